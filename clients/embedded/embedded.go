// Package embedded runs a Stowage server in the process of its caller: the same decisions as from a remote server, without a
// deployment.
package embedded

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/proto/answersize"
	"github.com/stowage-scheduler/stowage/server/inprocess"
)

// Dial starts a server in process and returns a client of it. Messages have no size limits. stop closes the client and stops the
// server, which also stops when ctx is done.
func Dial(ctx context.Context, options ...grpc.DialOption) (client *stowage.Client, stop func() error, err error) {
	dial, end := inprocess.Serve(ctx)
	all := []grpc.DialOption{
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32)),
	}
	all = append(all, answersize.DialOptions(math.MaxInt32)...)
	client, err = stowage.Dial([]string{"passthrough:///embedded"}, append(all, options...)...)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return client, func() error { return errors.Join(client.Close(), end()) }, nil
}
