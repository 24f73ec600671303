package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// uploadTimeout bounds the upload of a snapshot, which may be large and the link slow.
const uploadTimeout = 10 * time.Minute

// upload puts a snapshot once. It continues when its callers give up.
type upload struct {
	mutex sync.Mutex
	done  bool
	tried *try // the upload in progress, or nil
}

type try struct {
	ended chan struct{}
	err   error // once ended
}

// wait returns the error of the try, or an error with its description if the context ends first.
func (t *try) wait(ctx context.Context, doing string) error {
	select {
	case <-t.ended:
		return t.err
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
}

// ensure puts the snapshot unless it has been put. The client puts it again if a server turns out not to have it.
func (u *upload) ensure(ctx context.Context, client *stowage.Client, snapshot *stowage.Snapshot) error {
	t := u.begin(ctx, client, snapshot)
	if t == nil {
		return nil
	}
	return t.wait(ctx, "uploading the snapshot to Stowage")
}

// begin returns the upload in progress, starts one if needed, and returns nil if the snapshot has been put.
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

// inProgress reports whether an upload is in progress.
func (u *upload) inProgress() bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.tried != nil
}
