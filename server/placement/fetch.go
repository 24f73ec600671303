package placement

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	peerv1 "github.com/stowage-scheduler/stowage/proto/stowage/peer/v1"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/identity"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/telemetry"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// Source is where snapshots may be that the cache does not have, such as other replicas.
type Source interface {
	// Offers yields where a tenant's snapshot may be, the likeliest place first. An offer ends with its iteration.
	Offers(context.Context, *peerv1.FetchSnapshotRequest) iter.Seq[Offer]
}

// Offer is a snapshot at one place.
type Offer interface {
	// Receive receives the next FetchSnapshotResponse, whose part is the request's cluster. An error of the first one says that the
	// snapshot is not there. The error is io.EOF after the last one. The caller must free the response.
	Receive() (*wire.Request, error)
	// Reject says why what was received is not the snapshot.
	Reject(why error)
}

// Keeper keeps snapshots elsewhere, for others. It must not wait for anything, nor hold what waits to be kept: the cache counts that.
type Keeper interface {
	Keep(tenant string, c *content.Content)
}

// SetSources has the service look for unknown snapshots, in this order, and SetKeeper keep what is put. They must be called before the
// service is used.
func (s *Service) SetSources(from ...Source) { s.sources = from }

// SetKeeper sets the keeper.
func (s *Service) SetKeeper(k Keeper) { s.keeper = k }

// offers yields the offers of all sources.
func (s *Service) offers(ctx context.Context, request *peerv1.FetchSnapshotRequest) iter.Seq[Offer] {
	return func(yield func(Offer) bool) {
		for _, source := range s.sources {
			for offer := range source.Offers(ctx, request) {
				if !yield(offer) {
					return
				}
			}
		}
	}
}

// maxFetches bounds the snapshots that are fetched at a time. Callers of more put them.
const maxFetches = 8

// fetches are the snapshots that are being fetched. Like the cache it has no locks.
type fetches struct {
	now                   atomic.Pointer[map[fetchKey]*fetching]
	found, missing, bytes atomic.Int64
}

type fetchKey struct {
	tenant  string
	address content.Address
}

// fetching is a fetch that other calls wait for.
type fetching struct {
	ended chan struct{}
	// gaveUp is whether it ended because its call did, or was refused. It is set before ended is closed.
	gaveUp bool
}

// begin returns the fetch of a snapshot, and whether it is the caller's; nil if there are too many.
func (f *fetches) begin(k fetchKey) (at *fetching, own bool) {
	for {
		old := f.now.Load()
		var next map[fetchKey]*fetching
		if old != nil {
			if under := (*old)[k]; under != nil {
				return under, false
			}
			if len(*old) >= maxFetches {
				return nil, false
			}
			next = maps.Clone(*old)
		} else {
			next = make(map[fetchKey]*fetching, 1)
		}
		at = &fetching{ended: make(chan struct{})}
		next[k] = at
		if f.now.CompareAndSwap(old, &next) {
			return at, true
		}
	}
}

// end ends a fetch.
func (f *fetches) end(k fetchKey, gaveUp bool) {
	for {
		old := f.now.Load()
		next := maps.Clone(*old)
		delete(next, k)
		if f.now.CompareAndSwap(old, &next) {
			at := (*old)[k]
			at.gaveUp = gaveUp
			close(at.ended)
			return
		}
	}
}

// snapshotOrFetched is snapshot, and fetches it where the cache does not have it. Calls about one snapshot share a fetch.
func (s *Service) snapshotOrFetched(t *turn, address, field string) (*decode.Cluster, error) {
	c, unknown := s.snapshot(t.ctx, address, field)
	if unknown == nil || len(s.sources) == 0 {
		return c, unknown
	}
	a, err := decode.Address(address, field)
	if err != nil {
		return nil, err
	}
	key := fetchKey{identity.Tenant(t.ctx), a}
	for range 2 {
		at, own := s.fetches.begin(key)
		switch {
		case own:
			return s.fetch(t, key, unknown)
		case at == nil:
			return nil, unknown
		}
		_ = t.blocking(func() error {
			select {
			case <-at.ended:
			case <-t.ctx.Done():
			}
			return nil
		})
		if err := t.ctx.Err(); err != nil {
			return nil, err
		}
		if c := s.snapshots.Get(key.tenant, a); c != nil {
			return c, nil
		}
		if !at.gaveUp {
			break
		}
	}
	return nil, unknown
}

// fetch takes the first offer that has the snapshot. Its error is unknown if none has it, or if the cache has no room for it.
func (s *Service) fetch(t *turn, key fetchKey, unknown error) (_ *decode.Cluster, err error) {
	begin := time.Now()
	defer func() {
		s.fetches.end(key, err != nil && !errors.Is(err, unknown))
		telemetry.Phase(t.ctx, "fetch", begin, time.Now(), attribute.Bool("stowage.found", err == nil))
	}()
	address := key.address.String()
	request := &peerv1.FetchSnapshotRequest{Address: address, Tenant: key.tenant}
	for _, a := range s.snapshots.Recent(key.tenant, maxBases) {
		request.BaseAddresses = append(request.BaseAddresses, a.String())
	}
	for offer := range s.offers(t.ctx, request) {
		c, err := s.take(t, offer, address)
		if useless, ok := errors.AsType[*uselessError](err); ok {
			offer.Reject(useless.why)
			continue
		}
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		s.fetches.found.Add(1)
		if !s.snapshots.Put(c, ownerOf(t.ctx)) {
			return nil, unknown
		}
		return c, nil
	}
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	s.fetches.missing.Add(1)
	return nil, unknown
}

// uselessError is the error of an offer that has something else than the snapshot.
type uselessError struct{ why error }

func (e *uselessError) Error() string { return e.why.Error() }

// take receives and compiles a snapshot, and verifies its address. It returns nil for an offer that does not have it. Errors that are
// not of the offer are those of the call.
func (s *Service) take(t *turn, offer Offer, address string) (*decode.Cluster, error) {
	taking := taking{service: s, turn: t}
	for {
		var in *wire.Request
		err := t.blocking(func() (err error) { in, err = offer.Receive(); return err })
		begun := taking.request != nil
		switch {
		case errors.Is(err, io.EOF) && begun:
			return taking.end(address)
		case t.ctx.Err() != nil:
			return nil, t.ctx.Err()
		case err != nil && !begun:
			return nil, nil
		case err != nil:
			return nil, &uselessError{err}
		}
		err = taking.take(in)
		in.Free()
		if err != nil {
			return nil, err
		}
	}
}

// taking is the state of a snapshot that is received.
type taking struct {
	service *Service
	turn    *turn
	request *decode.Request // nil before the first response
	whole   bool            // whether it comes in parts
}

var errMixed = errors.New("a difference must be the only message")

// take decodes a response.
func (k *taking) take(in *wire.Request) (err error) {
	if err := in.Err(); err != nil {
		return &uselessError{err}
	}
	switch difference := in.Message.(*peerv1.FetchSnapshotResponse).GetDifference(); {
	case k.request != nil && (difference != nil || !k.whole):
		err = &uselessError{errMixed}
	case difference != nil:
		err = k.difference(difference)
	default:
		err = k.part(in)
	}
	if err != nil {
		return err
	}
	switch err := k.request.Err(); {
	case k.turn.ctx.Err() != nil:
		return k.turn.ctx.Err()
	case err != nil:
		return &uselessError{err}
	}
	return nil
}

func (k *taking) part(in *wire.Request) error {
	bytes := int64(in.Cluster.Len())
	k.service.fetches.bytes.Add(bytes)
	if err := interceptor.Reserve(k.turn.ctx, bytes); err != nil {
		return err
	}
	if err := k.turn.begin(work.Size{Bytes: bytes}, 1); err != nil {
		return err
	}
	if k.request == nil {
		k.request, k.whole = decode.NewRequest(k.turn.ctx), true
	}
	k.request.Part("part", in.Cluster)
	return nil
}

func (k *taking) difference(d *stowagev1.SnapshotReference) error {
	k.service.fetches.bytes.Add(int64(proto.Size(d)))
	base, err := k.service.snapshot(k.turn.ctx, d.GetAddress(), "difference.address")
	if err != nil {
		return &uselessError{err}
	}
	if err := reserve(k.turn.ctx, base, d.GetDelta()); err != nil {
		return err
	}
	if err := k.turn.begin(work.Size{Bytes: base.CopiedBy(d.GetDelta()) / copiedPerRead}, 1); err != nil {
		return err
	}
	k.request = decode.On(k.turn.ctx, base)
	k.request.Delta("difference.delta", d.GetDelta())
	return nil
}

// end returns the cluster of what was received, if it has the address.
func (k *taking) end(address string) (*decode.Cluster, error) {
	c, err := k.request.Cluster().Compact(k.turn.ctx)
	switch {
	case err != nil:
		return nil, err
	case c.Address != address:
		return nil, &uselessError{rpcerror.AddressMismatch(address, c.Address)}
	}
	return c, nil
}

// ownerOf returns who a snapshot is of that a call brings.
func ownerOf(ctx context.Context) snapshots.Owner {
	of := snapshots.Owner{Client: admission.Client(ctx)}
	if c := identity.From(ctx); c != nil {
		of.Tenant, of.Limit = c.Tenant, c.MaxSnapshotBytes
	}
	return of
}
