package stowage

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RememberedSnapshots is the number of most recently used snapshots that a client keeps to put them again.
const RememberedSnapshots = 8

// putTimeout bounds a put. A put continues after its callers stop waiting.
const putTimeout = 10 * time.Minute

// Put puts a snapshot to one of the replicas: its delta if the replica has the base and accepts the delta, the whole snapshot otherwise.
// Requests may refer to its address afterwards. If a replica does not have the snapshot, because it is another replica, has restarted,
// or has evicted the snapshot, the client puts it there and repeats the request, without the caller's involvement. The client does so
// for the RememberedSnapshots that it used last. For an older snapshot the caller receives the error and must put it again.
func (c *Client) Put(ctx context.Context, s *Snapshot) error {
	known := c.remembered.add(s)
	return c.again(ctx, func() error {
		method := stowagev1.PlacementService_PutSnapshot_FullMethodName
		_, err := c.hedged(ctx, method, minHedgedPut, func(ctx context.Context, _ bool) error {
			_, err := c.put(ctx, known, "", time.Now())
			return err
		})
		return err
	})
}

// putWhenUnknown puts the snapshot of a request to a replica that does not have it, and repeats the call there.
func (c *Client) putWhenUnknown(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	known := c.remembered.find(snapshotOf(request).GetAddress())
	if known == nil {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	r := &route{}
	ctx = withRoute(ctx, r)
	return c.putting(ctx, known, r, func() error { return invoke(ctx, method, request, reply, conn, options...) })
}

// putting makes a call whose context has the route. If the replica does not have the snapshot, putting puts it there and repeats the
// call. known is nil if the client does not have the snapshot.
func (c *Client) putting(ctx context.Context, known *putSnapshot, r *route, call func() error) error {
	for attempt := 1; ; attempt++ {
		began := time.Now()
		err := call()
		if err == nil || known == nil || attempt == maximumAttempts || !isUnknown(err) {
			return err
		}
		replica, err := c.put(ctx, known, r.last(), began)
		if err != nil {
			return err
		}
		r.hold(replica)
	}
}

// snapshotOf returns the snapshot of a request, nil for none.
func snapshotOf(request any) *stowagev1.SnapshotReference {
	if r, ok := request.(*stowagev1.PlaceStreamRequest); ok {
		request = r.GetPlace()
	}
	if r, ok := request.(interface {
		GetContext() *stowagev1.DecisionContext
	}); ok {
		return r.GetContext().GetSnapshot()
	}
	return nil
}

func isUnknown(err error) bool {
	return Details(err).Reason == stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT
}

// put puts a snapshot to a replica, "" for any, and returns the replica. It does nothing if the snapshot was put there after since.
// Concurrent calls for one snapshot and replica share one put, which continues if the context of its caller ends.
func (c *Client) put(ctx context.Context, known *putSnapshot, replica string, since time.Time) (string, error) {
	key := replica + " " + known.snapshot.address
	if t, ok := ctx.Value(tryKey{}).(*try); ok && replica == "" && t.avoid != nil { // its put in progress is slow
		key += " " + t.avoid.address
	}
	done := c.puts.DoChan(key, func() (any, error) {
		if known.putAfter(replica, since) {
			return replica, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putTimeout)
		defer cancel()
		r := &route{replica: replica, held: replica != ""}
		if err := c.upload(withRoute(ctx, r), known.snapshot); err != nil {
			return "", err
		}
		known.putNow(r.last())
		return r.last(), nil
	})
	select {
	case <-ctx.Done():
		return "", status.FromContextError(ctx.Err()).Err()
	case result := <-done:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	}
}

func (c *Client) upload(ctx context.Context, s *Snapshot) error {
	if s.delta != nil {
		if err := c.stream(ctx, s, s.difference); err == nil || !wholeMayHelp(err) {
			return err
		}
	}
	return c.stream(ctx, s, s.whole)
}

// wholeMayHelp reports whether putting the whole snapshot may succeed after a delta failed. It may not if the result would be the same,
// or if the server did not evaluate the delta: the call ended, or the server is unavailable or overloaded.
func wholeMayHelp(err error) bool {
	d := Details(err)
	switch d.Code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Unauthenticated, codes.PermissionDenied:
		return false
	}
	return d.RetryAfter == 0 && d.Reason != stowagev1.ErrorReason_ERROR_REASON_ADDRESS_MISMATCH
}

func (c *Client) stream(ctx context.Context, s *Snapshot, messages iter.Seq[*stowagev1.PutSnapshotRequest]) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.PutSnapshot(ctx)
	if err != nil {
		return err
	}
	for m := range messages {
		if err := stream.Send(m); errors.Is(err, io.EOF) {
			break // the response has already arrived
		} else if err != nil {
			return err
		}
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if answer.GetAddress() != s.address {
		return status.Errorf(codes.Internal, "the server stored snapshot %s as %q", s.address, answer.GetAddress())
	}
	return nil
}

// remembered holds the snapshots that a client puts again, the most recently used first.
type remembered struct {
	mutex sync.Mutex
	list  []*putSnapshot
}

// add adds a snapshot.
func (r *remembered) add(s *Snapshot) *putSnapshot {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.use(s.address); known != nil {
		return known
	}
	known := &putSnapshot{snapshot: s, at: map[string]time.Time{}}
	r.list = slices.Insert(r.list[:min(len(r.list), RememberedSnapshots-1)], 0, known)
	return known
}

// find returns a snapshot, nil if it is not held.
func (r *remembered) find(address string) *putSnapshot {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.use(address)
}

func (r *remembered) use(address string) *putSnapshot {
	i := slices.IndexFunc(r.list, func(known *putSnapshot) bool { return known.snapshot.address == address })
	if i < 0 {
		return nil
	}
	known := r.list[i]
	copy(r.list[1:i+1], r.list[:i])
	r.list[0] = known
	return known
}

// putSnapshot is a snapshot with the time of its last put by replica.
type putSnapshot struct {
	snapshot *Snapshot
	mutex    sync.Mutex
	at       map[string]time.Time
}

func (p *putSnapshot) putNow(replica string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.at[replica] = time.Now()
}

func (p *putSnapshot) putAfter(replica string, since time.Time) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.at[replica].After(since)
}
