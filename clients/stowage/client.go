package stowage

import (
	"errors"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // client-side health checking
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// MaximumMessageBytes bounds requests and responses; the server has its own limit. A cluster of 5,000 nodes and 150,000 pods takes about
// 55 MB with every pod in full, 5 MB with templates, and 1.4 MB with templates and node classes. Snapshots are put in parts of about
// 1 MiB, so that only a single node or delta has to fit.
const MaximumMessageBytes = 256 << 20

// The retry policy covers errors after which gRPC may repeat a call unconditionally. It includes PutSnapshot, because
// the server discards a stream that fails. It excludes RESOURCE_EXHAUSTED; see Client.again.
const serviceConfig = `{
  "loadBalancingConfig": [{"` + balancerName + `": {}}],
  "healthCheckConfig": {"serviceName": ""},
  "methodConfig": [{
    "name": [{"service": "stowage.v1.PlacementService"}, {"service": "stowage.v1.SimulationService"}],
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.1s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// connectParams are gRPC's defaults with shorter delays: a connection is retried after 0.1 s and later at least every second. gRPC's own
// delays are one second to two minutes, but a replica restarts within seconds and all callers wait for it.
var connectParams = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 20 * time.Second,
}

// Client calls the PlacementService and the SimulationService.
type Client struct {
	stowagev1.PlacementServiceClient
	stowagev1.SimulationServiceClient
	conn       *grpc.ClientConn
	reach      *reach
	remembered remembered
	puts       singleflight.Group
	replicas   replicas
	hedging    hedging
}

// Dial returns a client without connecting. A single address is a gRPC target, by default a DNS name with a port, and each of its
// addresses is a replica. Several addresses are the replicas themselves. Without options the connection is in plaintext. gRPC's options
// override Dial's own: grpc.WithTransportCredentials for TLS, grpc.WithStatsHandler(otelgrpc.NewClientHandler()) for traces and metrics.
// WithPatience and WithOwners are further options.
func Dial(addresses []string, options ...grpc.DialOption) (*Client, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no address")
	}
	c, throttle := &Client{}, NewThrottle()
	all := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(newCodec()),
			grpc.MaxCallSendMsgSize(MaximumMessageBytes),
			// gRPC does not retry requests that exceed this buffer, 256 KiB by default.
			grpc.MaxRetryRPCBufferSize(MaximumMessageBytes),
		),
		// Small windows and buffers halve the throughput of large requests.
		grpc.WithInitialWindowSize(64 << 20),
		grpc.WithInitialConnWindowSize(64 << 20),
		grpc.WithReadBufferSize(256 << 10),
		grpc.WithWriteBufferSize(256 << 10),
		// A replica that disappears without closing the connection is detected within 40 s, during and between calls. The
		// server allows pings every 10 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
		grpc.WithConnectParams(connectParams),
		grpc.WithChainUnaryInterceptor(c.unaryAgain, c.unaryHedged, c.putWhenUnknown, throttle.Unary),
		grpc.WithChainStreamInterceptor(c.streamAgain, throttle.Stream),
	}
	all = append(all, answersize.DialOptions(MaximumMessageBytes)...)
	target := addresses[0]
	if len(addresses) > 1 {
		replicas := manual.NewBuilderWithScheme("replicas")
		state := resolver.State{}
		for _, a := range addresses {
			state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
		}
		replicas.InitialState(state)
		all = append(all, grpc.WithResolvers(replicas))
		target = "replicas:///"
	}
	var waits time.Duration
	for _, o := range options {
		switch o := o.(type) {
		case patience:
			waits = o.d
		case owners:
			c.replicas.owners = o
			all = append(all, grpc.WithChainUnaryInterceptor(o.unary), grpc.WithChainStreamInterceptor(o.stream))
		}
	}
	conn, err := grpc.NewClient(target, append(all, options...)...)
	if err != nil {
		return nil, err
	}
	c.PlacementServiceClient = stowagev1.NewPlacementServiceClient(conn)
	c.SimulationServiceClient = stowagev1.NewSimulationServiceClient(conn)
	c.conn, c.reach = conn, newReach(conn, waits)
	return c, nil
}

// Close closes the connections. Calls in flight fail.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.reach.ended
	return err
}
