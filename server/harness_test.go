package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig is a configuration without waiting, on ports that are free.
func testConfig() config.Config {
	return config.Config{
		ListenAddress:          "127.0.0.1:0",
		AdminAddress:           "127.0.0.1:0",
		MaxReceiveMessageBytes: 4 << 20,
		MaxInFlightBytes:       8 << 20,
		MaxConcurrentStreams:   100,
		RateLimitBurst:         1,
		ShutdownGracePeriod:    time.Minute,
		LogLevel:               "info",
		LogFormat:              "json",
	}
}

// running is a server that runs.
type running struct {
	*Server
	conn *grpc.ClientConn
	// stop asks the server to stop; ended then has what Run returned.
	stop  context.CancelFunc
	ended chan error
}

// run runs a server of a configuration until the test ends. service stands in for the real one unless it is nil; creds
// are the caller's.
func run(t *testing.T, c config.Config, w io.Writer, service stowagev1.PlacementServiceServer,
	creds credentials.TransportCredentials) *running {
	t.Helper()
	return start(t, create(t, c, w, service), creds)
}

// create makes a server that does not run yet.
func create(t *testing.T, c config.Config, w io.Writer, service stowagev1.PlacementServiceServer) *Server {
	t.Helper()
	s, err := newServer(t.Context(), c, slog.New(slog.NewJSONHandler(w, nil)), service)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs a server until the test ends.
func start(t *testing.T, s *Server, creds credentials.TransportCredentials) *running {
	t.Helper()
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(s.Address().String(), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Server: s, conn: conn, stop: stop, ended: make(chan error, 1)}
	finished := make(chan struct{})
	go func() {
		r.ended <- s.Run(ctx)
		close(finished)
	}()
	t.Cleanup(func() {
		stop()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-finished
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// begin begins a call of a method of any kind, whose only message is the request.
func begin(ctx context.Context, t *testing.T, conn *grpc.ClientConn, method string, request any, options ...grpc.CallOption) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, options...)
	if err == nil {
		err = errors.Join(stream.SendMsg(request), stream.CloseSend())
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return stream
}

func (r *running) client() stowagev1.PlacementServiceClient {
	return stowagev1.NewPlacementServiceClient(r.conn)
}

// get asks the admin address.
func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + r.AdminAddress().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// patience is how long anything may take that normally takes a moment.
const patience = 2 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// besideHalfAPut asks while half of a put is in flight, which it is until the rest comes. The half may come too late to be
// beside the question, or be refused because of it: only repeated requests meet it for certain.
func besideHalfAPut(t *testing.T, r *running, ask func() error) error {
	t.Helper()
	half, err := r.client().PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := half.Send(part(threeZones())); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	asked := ask()
	if _, err := half.CloseAndRecv(); err == nil {
		t.Error("half a put is taken")
	}
	return asked
}

// why takes an error apart.
func why(err error) (code codes.Code, reason string, retry time.Duration, bad []*errdetails.BadRequest_FieldViolation) {
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if reason = d.GetReason(); d.GetDomain() != stowagev1.ErrorDomain {
				reason = d.GetDomain() + "/" + reason
			}
		case *errdetails.RetryInfo:
			retry = d.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			bad = d.GetFieldViolations()
		}
	}
	return s.Code(), reason, retry, bad
}

// stub is a service that answers Filter as a test wants, and embeds what refuses the rest.
type stub struct {
	stowagev1.UnimplementedPlacementServiceServer
	filter func(ctx context.Context) error
}

func (s *stub) Filter(ctx context.Context, _ *stowagev1.FilterRequest) (*stowagev1.FilterResponse, error) {
	if err := s.filter(ctx); err != nil {
		return nil, err
	}
	return &stowagev1.FilterResponse{}, nil
}

// blocking returns a stub that signals each call on entered and holds the call until release is closed or the call ends.
func blocking() (service *stub, entered chan struct{}, release chan struct{}) {
	entered, release = make(chan struct{}, 100), make(chan struct{})
	return &stub{filter: func(ctx context.Context) error {
		entered <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, entered, release
}
