package servertest_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/ringhash"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// named is a server whose release is its name.
type named struct {
	stowagev1.UnimplementedPlacementServiceServer
	release string
}

func (n named) GetServerInfo(context.Context, *stowagev1.GetServerInfoRequest) (*stowagev1.GetServerInfoResponse, error) {
	return &stowagev1.GetServerInfoResponse{Release: n.release}, nil
}

// TestRingHashByLineage expects that gRPC's own ring_hash policy sends all calls of a lineage to one replica, by the header that
// WithOwners sets.
func TestRingHashByLineage(t *testing.T) {
	const replicas = 8
	names := manual.NewBuilderWithScheme("replicas")
	state := resolver.State{}
	for i := range replicas {
		listener := loopback.Listen(t, "127.0.0.1:0")
		server := grpc.NewServer()
		stowagev1.RegisterPlacementServiceServer(server, named{release: fmt.Sprint(i)})
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		t.Cleanup(func() {
			server.Stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		state.Addresses = append(state.Addresses, resolver.Address{Addr: listener.Addr().String()})
	}
	names.InitialState(state)
	conn, err := grpc.NewClient("replicas:///", grpc.WithResolvers(names), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{"ring_hash_experimental": {"requestHashHeader": %q}}]}`,
			stowage.LineageHeader)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := stowagev1.NewPlacementServiceClient(conn)
	all := map[string]bool{}
	for i := range 12 {
		of := map[string]bool{}
		ctx := metadata.AppendToOutgoingContext(t.Context(), stowage.LineageHeader, fmt.Sprint("key-", i))
		for range 20 {
			answer, err := client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}, grpc.WaitForReady(true))
			if err != nil {
				t.Fatal(err)
			}
			of[answer.GetRelease()], all[answer.GetRelease()] = true, true
		}
		if len(of) != 1 {
			t.Errorf("the calls of one lineage go to %v", of)
		}
	}
	if len(all) < 4 {
		t.Errorf("12 lineages have the replicas %v of %d", all, replicas)
	}
}
