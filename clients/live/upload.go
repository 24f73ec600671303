package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// uploadTimeout bounds putting a snapshot, which may be large and the link slow.
const uploadTimeout = 10 * time.Minute

// upload brings a snapshot to Stowage once. It goes on when those who wait for it do not.
type upload struct {
	mutex sync.Mutex
	done  bool
	tried *try // nil if none is under way
}

type try struct {
	ended chan struct{}
	err   error // once ended
}

// wait returns the error of the try, or says what it was still doing when the context ended.
func (t *try) wait(ctx context.Context, doing string) error {
	select {
	case <-t.ended:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
}

// ensure puts the snapshot if that has not been done. The client puts it again where a server turns out not to have it.
func (u *upload) ensure(ctx context.Context, client *stowage.Client, snapshot *stowage.Snapshot) error {
	t := u.begin(ctx, client, snapshot)
	if t == nil {
		return nil
	}
	return t.wait(ctx, "the cluster is still on its way to Stowage")
}

// begin is the try that is under way, a new one if need be, nil if the snapshot has been put.
func (u *upload) begin(ctx context.Context, client *stowage.Client, snapshot *stowage.Snapshot) *try {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.done || u.tried != nil {
		return u.tried
	}
	t := &try{ended: make(chan struct{})}
	u.tried = t
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadTimeout)
		defer cancel()
		err := client.Put(ctx, snapshot)
		u.mutex.Lock()
		defer u.mutex.Unlock()
		t.err, u.done, u.tried = err, err == nil, nil
		close(t.ended)
	}()
	return t
}

// underWay tells whether a try is.
func (u *upload) underWay() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.tried != nil
}
