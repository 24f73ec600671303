// Package gateway serves the contract as JSON over HTTP, with grpc-gateway.
//
// Each HTTP connection has a connection of its own to the gRPC server of the process, which has the address and the certificate of the
// caller. So every call passes what calls over gRPC pass: identity, limits, admission, log and metrics. What the gRPC server cannot see
// is bounded here: bodies before they are requests, and answers while they are JSON.
package gateway

import (
	"context"
	_ "embed"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	gatewayv1 "github.com/stowage-scheduler/stowage/server/gateway/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// Bounds of HTTP.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maximumHeader = 64 << 10
	// sendTimeout is how long a caller may take to read sendBytes of an answer.
	sendTimeout = 30 * time.Second
	sendBytes   = 64 << 10
	// lingerTimeout is how long a refused caller may still send a body, of which net/http reads some before it answers.
	lingerTimeout = time.Second
)

//go:embed openapi.json
var description []byte

// Settings configure a Gateway.
type Settings struct {
	// Admit returns the name of a caller who may call a method, by the peer and the metadata of the context, or the error of a refused
	// call. It runs before a body is read. nil if everybody may call everything.
	Admit func(ctx context.Context, method string) (name string, err error)
	// Memory counts bodies and answers.
	Memory *ledger.Ledger
	// MaximumBody bounds the bytes of a body, ReceiveTimeout how long it may take to arrive; 0 is no limit.
	MaximumBody    int64
	ReceiveTimeout time.Duration
	// Local refuses requests for other hosts than this machine.
	Local bool
	// Info returns the AuthInfo of a connection with TLS.
	Info func(credentials.AuthInfo) credentials.AuthInfo
	Log  *slog.Logger
}

// Gateway is an HTTP server, and the listener of the gRPC server that it calls.
type Gateway struct {
	*http.Server
	settings  Settings
	mux       *runtime.ServeMux
	methods   map[string]bool
	listener  *listener
	callers   callers
	protected *http.CrossOriginProtection
}

// New returns a Gateway.
func New(s Settings) *Gateway {
	g := &Gateway{settings: s, methods: methods(), listener: newListener(), protected: http.NewCrossOriginProtection()}
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &marshaler{}),
		runtime.WithIncomingHeaderMatcher(forwarded),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(fail),
		runtime.WithStreamErrorHandler(streamError),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithWriteContentLength(),
	)
	// Registering fails for paths that are malformed, which generated ones are not.
	must(gatewayv1.RegisterPlacementServiceHandlerClient(context.Background(), g.mux, stowagev1.NewPlacementServiceClient(router{})))
	must(gatewayv1.RegisterSimulationServiceHandlerClient(context.Background(), g.mux, stowagev1.NewSimulationServiceClient(router{})))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // a connection has one call at a time, and no buffers that nothing counts
	g.Server = &http.Server{
		Handler: g, Protocols: protocols, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maximumHeader,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug), ConnContext: g.callers.begin, ConnState: g.callers.state,
	}
	return g
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// methods returns the paths of all methods.
func methods() map[string]bool {
	out := map[string]bool{}
	for _, service := range []*grpc.ServiceDesc{&stowagev1.PlacementService_ServiceDesc, &stowagev1.SimulationService_ServiceDesc} {
		for _, m := range service.Methods {
			out["/"+service.ServiceName+"/"+m.MethodName] = true
		}
		for _, m := range service.Streams {
			out["/"+service.ServiceName+"/"+m.StreamName] = true
		}
	}
	return out
}

// Listener is the listener that the gRPC server has to serve.
func (g *Gateway) Listener() net.Listener { return g.listener }

// forwarded says which headers of a request become metadata of the call. The authorization does in any case.
func forwarded(name string) (string, bool) {
	switch name {
	case "Traceparent", "Tracestate", http.CanonicalHeaderKey(answersize.Header):
		return name, true
	}
	return "", false
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{caller: callerOf(r.Context())}
	w = &writer{w, http.NewResponseController(w), c}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	if err := g.check(w, r); err != nil {
		g.refuse(w, r, err)
		return
	}
	if r.URL.Path == "/openapi.json" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description)
		return
	}
	name, err := g.admit(r, c.caller)
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	c.memory = g.settings.Memory.Outside(name, admission.ClientOf(c.caller.remote, c.caller.info))
	defer c.memory.Release()
	if r.Body, err = g.receive(w, r, c); err != nil {
		g.refuse(w, r, err)
		return
	}
	if c.conn, err = g.connect(c.caller); err != nil {
		g.refuse(w, r, err)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// check returns the error of a request that is none of the gateway.
func (g *Gateway) check(w http.ResponseWriter, r *http.Request) error {
	if g.settings.Local && !local(r.Host) {
		return httpError(http.StatusForbidden, codes.PermissionDenied, "this host name is none of this machine")
	}
	// A page of another origin must not have the browser of its reader send requests here.
	if err := g.protected.Check(r); err != nil {
		return httpError(http.StatusForbidden, codes.PermissionDenied, err.Error())
	}
	method := http.MethodPost
	switch {
	case r.URL.Path == "/openapi.json":
		method = http.MethodGet
	case !g.methods[r.URL.Path]:
		return httpError(http.StatusNotFound, codes.NotFound, "there is no such method; /openapi.json has all")
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		return httpError(http.StatusMethodNotAllowed, codes.Unimplemented, "the HTTP method has to be "+method)
	}
	return nil
}

// admit returns the name of the caller. The identity is checked again by the gRPC server, which also counts quotas.
func (g *Gateway) admit(r *http.Request, c *caller) (string, error) {
	if r.TLS != nil && c.info == nil {
		security := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
		c.info = g.settings.Info(credentials.TLSInfo{State: *r.TLS, CommonAuthInfo: security})
	}
	if g.settings.Admit == nil {
		return "", nil
	}
	ctx := peer.NewContext(r.Context(), &peer.Peer{Addr: c.remote, LocalAddr: c.local, AuthInfo: c.info})
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		ctx = metadata.NewIncomingContext(ctx, metadata.MD{"authorization": values})
	}
	return g.settings.Admit(ctx, r.URL.Path)
}

// local reports whether a Host header names this machine. A page could give its own name the address of the loopback.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip.IsLoopback()
}

// refuse answers with an error before a call.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
	_, m := runtime.MarshalerForRequest(g.mux, r)
	fail(r.Context(), g.mux, m, w, r, err)
}

// httpError is an error that only HTTP has.
func httpError(code int, grpc codes.Code, message string) error {
	return &runtime.HTTPStatusError{HTTPStatus: code, Err: status.Error(grpc, message)}
}
