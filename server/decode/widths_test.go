package decode_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// wider is an encoded message in which one number is larger by 2^32.
type wider struct {
	raw   []byte
	field protoreflect.FieldDescriptor
}

// fits reports whether the number has the meaning that it had: a bool is true whatever it is but 0.
func (w wider) fits() bool { return w.field.Kind() == protoreflect.BoolKind }

// widened returns an encoded message once for every number in it that has less than 64 bits, with that one widened.
func widened(raw []byte, m protoreflect.MessageDescriptor) []wider {
	var out []wider
	for at := 0; at < len(raw); {
		number, kind, n := protowire.ConsumeTag(raw[at:])
		size := protowire.ConsumeFieldValue(number, kind, raw[at+n:])
		before, value, after := raw[:at+n], raw[at+n:at+n+size], raw[at+n+size:]
		at += n + size
		f := m.Fields().ByNumber(number)
		switch {
		case f == nil:
		case f.Kind() == protoreflect.MessageKind:
			inner, _ := protowire.ConsumeBytes(value)
			for _, w := range widened(inner, f.Message()) {
				w.raw = slices.Concat(before, protowire.AppendBytes(nil, w.raw), after)
				out = append(out, w)
			}
		case f.Kind() == protoreflect.BoolKind, f.Kind() == protoreflect.EnumKind,
			f.Kind() == protoreflect.Int32Kind, f.Kind() == protoreflect.Uint32Kind:
			if kind == protowire.BytesType { // packed
				packed, _ := protowire.ConsumeBytes(value)
				packed = protowire.AppendVarint(slices.Clone(packed), 1<<32)
				out = append(out, wider{slices.Concat(before, protowire.AppendBytes(nil, packed), after), f})
				continue
			}
			v, _ := protowire.ConsumeVarint(value)
			out = append(out, wider{slices.Concat(before, protowire.AppendVarint(nil, v+1<<32), after), f})
		}
	}
	return out
}

// widenedCluster is a cluster with every field, once for every number of less than 64 bits.
func widenedCluster(t testing.TB) []wider {
	c := request().GetContext().GetCluster()
	c.PodTemplates[0].Spec.NodeName = ""
	c.Nodes[0].Pods[1].Name = "z" // the last in canonical order
	all := widened(marshal(t, c), c.ProtoReflect().Descriptor())
	// A taint of a class may be the only unusual thing about it, so a template gets one without the fixture's oddities, too.
	plain := &stowagev1.Cluster{
		Nodes: []*stowagev1.Node{{
			Name:       "a",
			Taints:     []*stowagev1.Taint{{Key: "k", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE}},
			ClassIndex: proto.Uint32(0),
			PodCounts:  []*stowagev1.PodCount{{Count: 1}, {TemplateIndex: 1, Count: 2, Terminating: true}},
			Pods:       []*stowagev1.Pod{{Name: "p", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}, Terminating: true}},
			NominatedPods: []*stowagev1.Pod{
				{Name: "n", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}, Terminating: true},
			},
		}},
		NodeClasses:  c.NodeClasses,
		PodTemplates: []*stowagev1.PodTemplate{{}, {Spec: &stowagev1.PodSpec{Priority: 1}}},
	}
	return append(all, widened(marshal(t, plain), plain.ProtoReflect().Descriptor())...)
}

const misfit = "which does not fit 32 bits"

// TestNumbersThatDoNotFit widens every number of a cluster that has less than 64 bits, and asks for a refusal with the
// field's path where that changes what the number means.
func TestNumbersThatDoNotFit(t *testing.T) {
	fields := make(map[protoreflect.FullName]bool)
	for _, w := range widenedCluster(t) {
		fields[w.field.FullName()] = true
		m := new(stowagev1.Cluster)
		if err := proto.Unmarshal(w.raw, m); err != nil {
			t.Fatal(err)
		}
		for _, keep := range []bool{true, false} {
			got, err := decode.Wire(wire.Pieces{w.raw}, keep)
			switch {
			case !w.fits():
				checkMisfit(t, w, "context.cluster.", err)
			case err != nil:
				t.Errorf("%s that is not 1 is refused: %v", w.field.FullName(), err)
			default:
				if want, err := content.Of(m); err != nil || got.Address != want.Address() {
					t.Errorf("the address with a %s that is not 1 is %v, want %v, %v", w.field.FullName(), got.Address, want.Address(), err)
				}
			}
		}
	}
	for _, name := range []protoreflect.FullName{
		"stowage.v1.Taint.effect", "stowage.v1.Node.unschedulable", "stowage.v1.Node.class_index", "stowage.v1.PodCount.count",
		"stowage.v1.PodCount.template_index", "stowage.v1.PodCount.terminating", "stowage.v1.Pod.template_index",
		"stowage.v1.Pod.terminating", "stowage.v1.PodResourceStatus.resize_infeasible", "stowage.v1.PodSpec.priority",
		"stowage.v1.WorkloadSelector.kind", "stowage.v1.HostPort.port", "stowage.v1.HostPort.protocol",
		"stowage.v1.Container.restart_policy", "stowage.v1.Toleration.operator", "stowage.v1.Toleration.effect",
		"stowage.v1.TopologySpreadConstraint.min_domains", "stowage.v1.TopologySpreadConstraint.max_skew",
		"stowage.v1.NodeSelectorRequirement.operator", "stowage.v1.LabelSelectorRequirement.operator",
		"stowage.v1.PreferredSchedulingTerm.weight", "stowage.v1.WeightedPodAffinityTerm.weight",
	} {
		if !fields[name] {
			t.Errorf("%s was not widened", name)
		}
	}
}

func checkMisfit(t *testing.T, w wider, root string, err error) {
	t.Helper()
	var wrong *decode.Error
	if !errors.As(err, &wrong) {
		t.Errorf("a %s that does not fit: %v", w.field.FullName(), err)
		return
	}
	v := wrong.Violations[0]
	_, step, _ := cutLast(v.Field, ".")
	if !strings.HasPrefix(v.Field, root) || step != string(w.field.Name()) || !strings.Contains(v.Description, misfit) {
		t.Errorf("a %s that does not fit: %v", w.field.FullName(), err)
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// TestRequestsWithNumbersThatDoNotFit does so with what becomes messages: deltas, queues, profiles and pods.
func TestRequestsWithNumbersThatDoNotFit(t *testing.T) {
	whole := request()
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: whole.GetContext().GetCluster().PodTemplates[0]}}
	place := proto.CloneOf(whole)
	place.Context.Base = nil
	place.Queue = append(place.Queue, &stowagev1.PendingPods{
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}, Count: new(uint32(1)),
	})
	filter := &stowagev1.FilterRequest{Pod: pod, CandidateNodes: whole.CandidateNodes}
	put := &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{
		Delta: &stowagev1.ClusterDelta{
			PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1, Template: whole.GetContext().GetCluster().PodTemplates[0]}},
			NodeClasses:  []*stowagev1.IndexedNodeClass{{Index: 1, NodeClass: whole.GetContext().GetCluster().NodeClasses[0]}},
			Nodes:        whole.GetContext().GetCluster().Nodes,
			NodePods: []*stowagev1.NodePodsDelta{{
				NodeName: "a", PodCounts: whole.GetContext().GetCluster().Nodes[0].PodCounts,
				Pods: whole.GetContext().GetCluster().Nodes[0].Pods, NominatedPods: whole.GetContext().GetCluster().Nodes[0].NominatedPods,
			}},
			WorkloadSelectors:    whole.GetContext().GetCluster().WorkloadSelectors,
			PodDisruptionBudgets: whole.GetContext().GetCluster().PodDisruptionBudgets,
		},
	}}
	for _, test := range []struct {
		m    proto.Message
		root string
		read func([]byte) error
	}{
		{place, "", func(raw []byte) error {
			m := new(stowagev1.PlaceRequest)
			pods, err := decode.ReadPlace(raw, m)
			return placed(t, m, pods, err)
		}},
		{filter, "", func(raw []byte) error {
			_, err := decode.ReadRequestPods(raw, new(stowagev1.FilterRequest))
			return err
		}},
		{put, "", func(raw []byte) error { return decode.Unmarshal(raw, new(stowagev1.PutSnapshotRequest)) }},
		{&stowagev1.PlaceStreamRequest{Place: whole}, "", func(raw []byte) error {
			m := new(stowagev1.PlaceStreamRequest)
			pods, err := decode.ReadPlaceStream(raw, m)
			return placed(t, m.GetPlace(), pods, err)
		}},
	} {
		name := test.m.ProtoReflect().Descriptor().Name()
		raw := marshal(t, test.m)
		if err := test.read(slices.Clone(raw)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := widened(raw, test.m.ProtoReflect().Descriptor())
		if len(all) < 20 {
			t.Errorf("%s: only %d numbers were widened", name, len(all))
		}
		for _, w := range all {
			if err := test.read(slices.Clone(w.raw)); w.fits() {
				if err != nil {
					t.Errorf("%s: %s that is not 1 is refused: %v", name, w.field.FullName(), err)
				}
			} else {
				checkMisfit(t, w, test.root, err)
			}
		}
	}
}

// placed goes on with a request that was read, about the cluster of the fixture.
func placed(t *testing.T, in *stowagev1.PlaceRequest, pods *decode.RequestPods, err error) error {
	if err != nil {
		return err
	}
	r := decode.NewRequest(t.Context())
	r.Message(request().GetContext().GetCluster())
	r.Ask(pods)
	r.Place(in)
	return r.Err()
}

// TestPathsOfNumbersThatDoNotFit shows where they are said to be.
func TestPathsOfNumbersThatDoNotFit(t *testing.T) {
	number := func(field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
	}
	message := func(field protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), slices.Concat(parts...))
	}
	text := func(field protowire.Number, s string) []byte { return message(field, []byte(s)) }
	sound := message(3, text(1, "k"), number(3, 1))
	for _, test := range []struct {
		cluster []byte
		want    string
	}{
		{
			slices.Concat(message(1, text(1, "a")), message(1, text(1, "b"), sound, message(3, text(1, "k"), number(3, 1<<32+1)))),
			"context.cluster.nodes[1].taints[1].effect: is 4294967297, which does not fit 32 bits",
		},
		{
			message(2, message(4, number(12, 1<<31))),
			"context.cluster.pod_templates[0].spec.priority: is 2147483648, which does not fit 32 bits",
		},
		{
			message(2, message(4, number(12, 1<<64-1<<31-1))),
			"context.cluster.pod_templates[0].spec.priority: is -2147483649, which does not fit 32 bits",
		},
		{
			message(2, message(4, message(4, number(1, 1), text(2, "zone"), number(1, 1<<32+1), number(3, 1)))),
			"context.cluster.pod_templates[0].spec.topology_spread_constraints[0].max_skew: is 4294967297, which does not fit 32 bits",
		},
		{
			message(4, number(1, 1<<32), number(1, 1), text(3, "s")),
			"context.cluster.workload_selectors[0].kind: is 4294967296, which does not fit 32 bits",
		},
	} {
		if _, err := decode.Wire(wire.Pieces{test.cluster}, true); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
