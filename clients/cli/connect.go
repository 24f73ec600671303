package cli

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
)

// connect returns a client of the given servers, or of a server inside the process.
func (q *question) connect(ctx context.Context) (stowagev1.PlacementServiceClient, func(), error) {
	if len(q.Server) > 0 {
		c, err := stowage.Dial(q.Server)
		if err != nil {
			return nil, nil, err
		}
		return c, func() { _ = c.Close() }, nil
	}
	conn, stop, err := server.NewEmbedded(ctx)
	if err != nil {
		return nil, nil, err
	}
	return stowagev1.NewPlacementServiceClient(conn), func() { _ = stop() }, nil
}
