package placement

import (
	"context"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// maxRawKeys bounds the raw keys of one response. A client that encodes maps in random order produces many.
const maxRawKeys = 4

// cachedResponse is a response in a snapshot's cache. It is found by the key of the decoded request and, before decoding, by
// up to maxRawKeys raw keys.
type cachedResponse struct {
	encoded  wire.Encoded
	feasible int
	rawKeys  atomic.Int32
}

// lookup is the result of a cache look-up by an encoded request.
type lookup struct {
	snapshot *decode.Snapshot
	// rawKey is the key of the encoded request in the snapshot's cache, empty if the request has none.
	rawKey string
	// response is nil on a cache miss.
	response *cachedResponse
}

// lookup looks up the response to an encoded request.
func (s *Service) lookup(ctx context.Context, encoded []byte, method string) lookup {
	address, name, key, ok := wire.CacheKey(encoded)
	if !ok || len(name) > decode.MaxNameBytes {
		return lookup{}
	}
	snapshot, err := s.snapshot(ctx, address, "context.snapshot.address")
	if err != nil { // reported after decoding
		return lookup{}
	}
	if snapshot.Nominates() {
		key = append(append(key, 0), name...) // no field has the number 0
	}
	l := lookup{snapshot: snapshot, rawKey: method + ":" + string(key)}
	l.response, _ = snapshot.Kept(l.rawKey).(*cachedResponse)
	return l
}

// serveCached records a cache hit and returns the response.
func (s *Service) serveCached(ctx context.Context, method string, snapshot *decode.Snapshot, r *cachedResponse) wire.Encoded {
	s.decisions.CacheHit(ctx, method, snapshot.Len(), r.feasible)
	return r.encoded
}

// cache adds a response to a snapshot's cache under the key of the decoded request.
func cache(snapshot *decode.Snapshot, key string, encoded wire.Encoded, feasible int) *cachedResponse {
	r := &cachedResponse{encoded: encoded, feasible: feasible}
	snapshot.Keep(key, r, int64(cap(encoded)))
	return r
}

// addRawKey adds a raw key of the response, if it has less than maxRawKeys.
func (r *cachedResponse) addRawKey(snapshot *decode.Snapshot, key string) {
	// Load comes first, so that the counter cannot overflow.
	if key != "" && r.rawKeys.Load() < maxRawKeys && r.rawKeys.Add(1) <= maxRawKeys {
		snapshot.Keep(key, r, 0)
	}
}
