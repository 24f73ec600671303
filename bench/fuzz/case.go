package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/proto/content/contenttest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// input is an encoded request with its cluster, and a delta of that cluster.
type input struct {
	method *method
	raw    []byte
	delta  *stowagev1.ClusterDelta // nil for none
	seed   uint64                  // of the ways in which it is encoded
}

// drawn returns the i-th input of a seed.
func drawn(seed, i uint64) *input {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, i))}
	in := &input{method: pick(d, methods), seed: d.Uint64()}
	request := d.request(in.method)
	kind := d.IntN(10)
	if kind < 3 {
		for range 1 + d.IntN(2) {
			d.spoil(request.ProtoReflect())
		}
	}
	if d.chance(4) {
		in.delta = new(stowagev1.ClusterDelta)
		d.message(in.delta.ProtoReflect(), 9)
		mend(in.delta)
		if base := in.method.context(request).GetCluster(); base != nil && !d.chance(10) {
			mendDelta(in.delta, base)
		}
		if d.chance(5) {
			d.spoil(in.delta.ProtoReflect())
		}
	}
	// Strings that are not UTF-8 cannot be encoded.
	in.raw, _ = proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if kind == 9 {
		in.raw = corrupt(in.raw, d.Rand)
	}
	return in
}

// outcome counts the results of an input.
type outcome struct {
	answered bool // not refused
	late     bool // not decided in time, so not compared
	delta    bool // answered on a base with a delta
	requests int
}

// patience is the longest call. Calls that take longer are not compared.
const patience = 10 * time.Second

// compare sends an input in all ways. The error describes the first difference.
func (in *input) compare(s *service) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := &comparison{input: in, service: s, ctx: ctx, rng: rand.New(rand.NewPCG(in.seed, 1))}
	err := c.run()
	c.outcome.late = ctx.Err() != nil
	if c.outcome.late {
		err = nil
	}
	return c.outcome, err
}

type comparison struct {
	*input
	service *service
	ctx     context.Context
	rng     *rand.Rand
	outcome outcome
	request proto.Message
	want    answer
	encoded bool // whether want is as the server encodes it
}

func (c *comparison) run() error {
	c.request = c.method.request.ProtoReflect().New().Interface()
	malformed := proto.Unmarshal(c.raw, c.request)
	if malformed != nil {
		got := c.call(&c.service.frames, c.frames(c.raw))
		if got.err.Code() != codes.InvalidArgument {
			return fmt.Errorf("protobuf refuses it (%w), the wire reader answers %v", malformed, got.err)
		}
		return nil
	}
	before := proto.Clone(c.request)
	c.want = c.call(&c.service.messages, mem.BufferSlice{mem.SliceBuffer(slices.Clone(c.raw))})
	if code := c.want.err.Code(); code == codes.Internal || code == codes.Unknown {
		return fmt.Errorf("it fails: %v", c.want.err)
	}
	usual, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.request)
	if err != nil {
		return err
	}
	for _, form := range []struct {
		name string
		raw  []byte
	}{{"as it is", c.raw}, {"encoded as usual", usual}, {"encoded unusually", unusual(usual, before.ProtoReflect().Descriptor(), c.rng)}} {
		got := c.call(&c.service.frames, c.frames(form.raw))
		if err := c.differs(got, form.name != "encoded as usual"); err != nil {
			return fmt.Errorf("in frames, %s: %w", form.name, err)
		}
	}
	c.outcome.answered = c.want.err.Code() == codes.OK
	return c.bySnapshot()
}

func (c *comparison) call(h *handlers, frames mem.BufferSlice) answer {
	c.outcome.requests++
	a := h.call(c.ctx, c.service, c.method.name, frames)
	if c.method.unordered != nil && c.method.unordered(c.request) {
		slices.SortFunc(a.parts, bytes.Compare)
	}
	return a
}

func (c *comparison) frames(raw []byte) mem.BufferSlice { return cut(raw, c.rng) }

// bySnapshot puts the cluster and calls by its address.
func (c *comparison) bySnapshot() error {
	context := c.method.context(c.request)
	cluster := context.GetCluster()
	if cluster == nil {
		return nil
	}
	address, refused := c.put(c.steps(cluster))
	if err := c.agrees(cluster, address, refused, c.want); err != nil || refused != nil {
		return err
	}
	context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address}}
	if err := c.byReference("by address", c.want); err != nil {
		return err
	}
	if c.delta == nil {
		return nil
	}
	return c.byDelta(context, cluster)
}

// byReference calls by a snapshot's address, again and again.
func (c *comparison) byReference(name string, want answer) error {
	c.want = want // of frames
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.request)
	if err != nil {
		return err
	}
	for _, form := range [][]byte{raw, raw, unusual(raw, c.request.ProtoReflect().Descriptor(), c.rng), raw} {
		if err := c.differs(c.call(&c.service.frames, c.frames(form)), true); err != nil {
			return fmt.Errorf("%s, in frames: %w", name, err)
		}
	}
	return nil
}

// byDelta compares the cluster with a delta, and the cluster that simple code makes of both.
func (c *comparison) byDelta(context *stowagev1.DecisionContext, base *stowagev1.Cluster) error {
	built, err := content.Of(base)
	if err != nil {
		return err
	}
	ordered, err := built.Cluster()
	if err != nil {
		return err
	}
	result, fits := contenttest.Apply(ordered, c.delta)
	reference := &stowagev1.SnapshotReference{Address: built.Address().String(), Delta: c.delta}
	if !fits {
		context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: reference}
		raw, err := proto.Marshal(c.request)
		if err != nil {
			return err
		}
		if got := c.call(&c.service.frames, c.frames(raw)); got.err.Code() != codes.InvalidArgument {
			return fmt.Errorf("a delta that does not fit is answered with %v", got.err)
		}
		return nil
	}
	context.Base = &stowagev1.DecisionContext_Cluster{Cluster: result}
	raw, err := proto.Marshal(c.request)
	if err != nil {
		return err
	}
	want := c.call(&c.service.frames, c.frames(raw))
	end := new(stowagev1.PutSnapshotEnd)
	if of, err := content.Of(result); err == nil {
		end.Address = proto.String(of.Address().String())
	}
	address, refused := c.put([]*stowagev1.PutSnapshotRequest{
		{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: built.Address().String()}},
		{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: c.delta}},
		{Step: &stowagev1.PutSnapshotRequest_End{End: end}},
	})
	if refused.Code() == codes.InvalidArgument {
		return nil // a delta may be malformed where the cluster that it leads to shows no trace
	}
	if err := c.agrees(result, address, refused, want); err != nil {
		return fmt.Errorf("put with a delta: %w", err)
	}
	c.outcome.delta = want.err.Code() == codes.OK
	context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: reference}
	if err := c.byReference("by address and delta", want); err != nil {
		return err
	}
	reference.Address, reference.Delta = address, nil
	return c.byReference("by the address of a delta", want)
}

// steps returns the steps of a PutSnapshot call for a cluster in one to three parts.
func (c *comparison) steps(whole *stowagev1.Cluster) []*stowagev1.PutSnapshotRequest {
	var steps []*stowagev1.PutSnapshotRequest
	part := proto.CloneOf(whole)
	nodes := part.Nodes
	for range c.rng.IntN(3) {
		n := c.rng.IntN(len(nodes) + 1)
		part.Nodes = nodes[:n]
		nodes = nodes[n:]
		steps = append(steps, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: part}})
		part = new(stowagev1.Cluster)
	}
	part.Nodes = nodes
	return append(steps,
		&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: part}},
		&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: new(stowagev1.PutSnapshotEnd)}})
}

// put puts a snapshot. It returns the address or the error.
func (c *comparison) put(steps []*stowagev1.PutSnapshotRequest) (string, *status.Status) {
	var requests []mem.BufferSlice
	for _, s := range steps {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
		if err != nil {
			return "", status.Convert(err)
		}
		if c.rng.IntN(2) == 0 {
			raw = unusual(raw, s.ProtoReflect().Descriptor(), c.rng)
		}
		requests = append(requests, c.frames(raw))
	}
	c.outcome.requests++
	a := c.service.frames.call(c.ctx, c.service, "PutSnapshot", requests...)
	if a.err != nil {
		return "", a.err
	}
	var out stowagev1.PutSnapshotResponse
	if err := proto.Unmarshal(a.parts[0], &out); err != nil {
		return "", status.Convert(err)
	}
	return out.Address, nil
}

// agrees checks that the put of a cluster succeeded or failed like the request with the cluster, and that its address is the address
// of its content.
func (c *comparison) agrees(cluster *stowagev1.Cluster, address string, refused *status.Status, whole answer) error {
	blamed := slices.ContainsFunc(violations(whole.err), func(v *errdetails.BadRequest_FieldViolation) bool {
		return strings.HasPrefix(strings.TrimPrefix(v.Field, "place."), "context.cluster")
	})
	switch {
	case refused != nil && refused.Code() != codes.InvalidArgument:
		return fmt.Errorf("put: %v", refused)
	case refused != nil && whole.err == nil:
		return fmt.Errorf("the cluster is refused when it is put (%v), and not in a request (%v)", refused, whole.err)
	case refused != nil:
		return nil
	case blamed:
		return fmt.Errorf("the cluster is refused in a request (%v), and not when it is put", whole.err)
	}
	of, err := content.Of(cluster)
	if err != nil {
		return fmt.Errorf("the cluster was taken, and has no content: %w", err)
	}
	if want := of.Address().String(); address != want {
		return fmt.Errorf("the address is %s, the content's %s", address, want)
	}
	return nil
}

func violations(s *status.Status) []*errdetails.BadRequest_FieldViolation {
	for _, d := range s.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			return bad.FieldViolations
		}
	}
	return nil
}

// shownOnWire are descriptions of violations that a message does not show any more.
var shownOnWire = []string{"which does not fit 32 bits", "unknown field"}

// differs compares an answer with the wanted one. otherwise says that the request was encoded, or had its cluster, in another way:
// then errors need not name the same fields first.
func (c *comparison) differs(got answer, otherwise bool) error {
	if c.want.err != nil || got.err != nil {
		if c.want.err.Code() == got.err.Code() && (otherwise || proto.Equal(c.want.err.Proto(), got.err.Proto())) {
			return nil
		}
		for _, v := range violations(got.err) {
			for _, shown := range shownOnWire {
				if strings.Contains(v.Description, shown) {
					return nil
				}
			}
		}
		return fmt.Errorf("%v, want %v", got.err, c.want.err)
	}
	if slices.EqualFunc(c.want.parts, got.parts, bytes.Equal) {
		return nil
	}
	want, err := c.decoded(c.want)
	if err != nil {
		return err
	}
	have, err := c.decoded(got)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(want, have, proto.Equal) {
		diff := cmp.Diff(want, have, protocmp.Transform())
		return fmt.Errorf("the answers differ (-message +this):\n%s", diff)
	}
	if c.encoded {
		return errors.New("the answers have different bytes, and are the same")
	}
	// The generated handlers encode the answer in their own way. From here on the same bytes are wanted.
	c.want, c.encoded = got, true
	return nil
}

func (c *comparison) decoded(a answer) ([]proto.Message, error) {
	var out []proto.Message
	for _, p := range a.parts {
		m := c.method.response.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(p, m); err != nil {
			return nil, fmt.Errorf("the answer is malformed: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}
