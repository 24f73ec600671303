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

// RememberedSnapshots is how many snapshots a client remembers, to put them again: those that were put or asked about
// last.
const RememberedSnapshots = 8

// putTimeout bounds a put, which all of its callers may have stopped waiting for.
const putTimeout = 10 * time.Minute

// Put brings a snapshot to one of the replicas: by its delta if the replica has its base and takes it, else in full.
// From then on requests may name its address. Where a replica answers that it does not have the snapshot, for it is
// another one, was started anew, or needed the room, the client puts it there and asks again, without the caller
// noticing. It does so for the RememberedSnapshots that were put or asked about last; an older one must be put again by
// the caller, to whom the error goes.
func (c *Client) Put(ctx context.Context, s *Snapshot) error {
	known := c.remembered.add(s)
	return c.again(ctx, func() error {
		_, err := c.put(ctx, known, "", time.Now())
		return err
	})
}

// putWhenUnknown puts a snapshot to the replica that answered that it does not have it, and repeats the call there.
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

// putting makes a call whose context has the route, and puts the snapshot, if one is known, to the replica that answers
// that it does not have it, before it repeats the call there.
func (c *Client) putting(ctx context.Context, known *putSnapshot, r *route, call func() error) error {
	for attempt := 1; ; attempt++ {
		asked := time.Now()
		err := call()
		if err == nil || known == nil || attempt == maximumAttempts || !isUnknown(err) {
			return err
		}
		replica, err := c.put(ctx, known, r.last(), asked)
		if err != nil {
			return err
		}
		r.hold(replica)
	}
}

// snapshotOf is the snapshot that a request is about, nil if it is about none.
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

// put brings a snapshot to a replica, or to any one if it is "", unless that was done after the given time, and tells to
// which. Those who want the same at the same time wait for one of them; so it goes on if its caller's context ends.
func (c *Client) put(ctx context.Context, known *putSnapshot, replica string, since time.Time) (string, error) {
	done := c.puts.DoChan(replica+" "+known.snapshot.address, func() (any, error) {
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

// wholeMayHelp reports whether a server that answers a delta so may take the whole snapshot: not if it would lead to the
// same or was not looked at, as when the call ended, the server is away or asks to come back later.
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
			break // the answer is there already
		} else if err != nil {
			return err
		}
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if answer.GetAddress() != s.address {
		return status.Errorf(codes.Internal, "the server has snapshot %s as %q", s.address, answer.GetAddress())
	}
	return nil
}

// remembered is the snapshots that a client puts again, the last used ones first.
type remembered struct {
	mutex sync.Mutex
	list  []*putSnapshot
}

// add remembers a snapshot.
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

// find returns a snapshot that is remembered, or nil.
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

// putSnapshot is a snapshot, and when it was last put where.
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
