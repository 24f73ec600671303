package cli

import (
	"context"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
)

// services are the services of a server.
type services struct {
	stowagev1.PlacementServiceClient
	stowagev1.SimulationServiceClient
}

// connect returns a client of the given servers, or of a server inside the process.
func (q *question) connect(ctx context.Context) (services, func(), error) {
	if len(q.Server) > 0 {
		c, err := stowage.Dial(q.Server)
		if err != nil {
			return services{}, nil, err
		}
		return services{c, c}, func() { _ = c.Close() }, nil
	}
	conn, stop, err := server.NewEmbedded(ctx)
	if err != nil {
		return services{}, nil, err
	}
	both := services{stowagev1.NewPlacementServiceClient(conn), stowagev1.NewSimulationServiceClient(conn)}
	return both, func() { _ = stop() }, nil
}
