package placement

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/identity"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// Source is where snapshots may be that the cache does not have, such as other replicas.
type Source interface {
	// Offers yields where a tenant's snapshot may be, the likeliest place first. An offer ends with its iteration.
	Offers(ctx context.Context, tenant, address string) iter.Seq[Offer]
}

// Offer is a snapshot at one place.
type Offer interface {
	// Receive receives the next part of the snapshot: an error of the first one says that it is not there. The error is io.EOF after
	// the last part. The caller must free the part.
	Receive() (*wire.Request, error)
	// Reject says why what was received is not the snapshot.
	Reject(why error)
}

// SetSource has the service look for unknown snapshots. It must be called before the service is used.
func (s *Service) SetSource(from Source) { s.source = from }

// maxFetches bounds the snapshots that are fetched at a time. Callers of more put them.
const maxFetches = 8

// fetches are the snapshots that are being fetched. Like the cache it has no locks.
type fetches struct {
	now            atomic.Pointer[map[fetchKey]chan struct{}]
	found, missing atomic.Int64
}

type fetchKey struct {
	tenant  string
	address content.Address
}

// begin returns what is closed when a fetch ends, and whether it is the caller's; nil if there are too many.
func (f *fetches) begin(k fetchKey) (ended chan struct{}, own bool) {
	for {
		old := f.now.Load()
		var next map[fetchKey]chan struct{}
		if old != nil {
			if under := (*old)[k]; under != nil {
				return under, false
			}
			if len(*old) >= maxFetches {
				return nil, false
			}
			next = maps.Clone(*old)
		} else {
			next = make(map[fetchKey]chan struct{}, 1)
		}
		ended = make(chan struct{})
		next[k] = ended
		if f.now.CompareAndSwap(old, &next) {
			return ended, true
		}
	}
}

// end ends a fetch.
func (f *fetches) end(k fetchKey) {
	for {
		old := f.now.Load()
		next := maps.Clone(*old)
		delete(next, k)
		if f.now.CompareAndSwap(old, &next) {
			close((*old)[k])
			return
		}
	}
}

// snapshotOrFetched is snapshot, and fetches it where the cache does not have it. Calls about one snapshot share a fetch.
func (s *Service) snapshotOrFetched(t *turn, address, field string) (*decode.Cluster, error) {
	c, unknown := s.snapshot(t.ctx, address, field)
	if unknown == nil || s.source == nil {
		return c, unknown
	}
	a, err := decode.Address(address, field)
	if err != nil {
		return nil, err
	}
	key := fetchKey{identity.Tenant(t.ctx), a}
	for range 2 { // the first time another call may give up
		ended, own := s.fetches.begin(key)
		switch {
		case own:
			return s.fetch(t, key, unknown)
		case ended == nil:
			return nil, unknown
		}
		_ = t.blocking(func() error {
			select {
			case <-ended:
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
	}
	return nil, unknown
}

// fetch takes the first offer that has the snapshot. Its error is unknown if none has it, or if the cache has no room for it.
func (s *Service) fetch(t *turn, key fetchKey, unknown error) (*decode.Cluster, error) {
	defer s.fetches.end(key)
	address := key.address.String()
	for offer := range s.source.Offers(t.ctx, key.tenant, address) {
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
	var r *decode.Request
	for {
		var in *wire.Request
		err := t.blocking(func() (err error) { in, err = offer.Receive(); return err })
		switch {
		case errors.Is(err, io.EOF) && r != nil:
			c := r.Cluster()
			if c.Address != address {
				return nil, &uselessError{rpcerror.AddressMismatch(address, c.Address)}
			}
			return c, nil
		case t.ctx.Err() != nil:
			return nil, t.ctx.Err()
		case err != nil && r == nil:
			return nil, nil
		case err != nil:
			return nil, &uselessError{err}
		}
		if r, err = takePart(t, r, in); err != nil {
			return nil, err
		}
	}
}

// takePart decodes a part, the first one if r is nil, and frees it.
func takePart(t *turn, r *decode.Request, in *wire.Request) (*decode.Request, error) {
	defer in.Free()
	if err := in.Err(); err != nil {
		return nil, &uselessError{err}
	}
	bytes := int64(in.Cluster.Len())
	if err := interceptor.Reserve(t.ctx, bytes); err != nil {
		return nil, err
	}
	if err := t.begin(work.Size{Bytes: bytes}, 1); err != nil {
		return nil, err
	}
	if r == nil {
		r = decode.NewRequest(t.ctx)
	}
	r.Part("part", in.Cluster)
	switch err := r.Err(); {
	case t.ctx.Err() != nil:
		return nil, t.ctx.Err()
	case err != nil:
		return nil, &uselessError{err}
	}
	return r, nil
}

// ownerOf returns who a snapshot is of that a call brings.
func ownerOf(ctx context.Context) snapshots.Owner {
	of := snapshots.Owner{Client: admission.Client(ctx)}
	if c := identity.From(ctx); c != nil {
		of.Tenant, of.Limit = c.Tenant, c.MaxSnapshotBytes
	}
	return of
}
