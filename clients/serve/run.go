package serve

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// Bounds of connections.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maximumHeader  = 64 << 10
	shutdownPeriod = 10 * time.Second
)

// Listen opens an address. Without a token only callers on this machine may be served: others could use its processors. A cluster is for callers
// on this machine, with or without a token.
func Listen(ctx context.Context, address string, o *Options) (net.Listener, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	switch local := loopback(l.Addr()); {
	case !local && o.Cluster != nil:
		return nil, errors.Join(fmt.Errorf("%s is reachable from other machines, which must not read the cluster", l.Addr()), l.Close())
	case !local && o.Token == "":
		return nil, errors.Join(fmt.Errorf("%s is reachable from other machines, which needs a token", l.Addr()), l.Close())
	}
	return l, nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Run serves until ctx is done, and then answers the requests that it has, for some seconds.
func Run(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maximumHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPeriod)
	defer cancel()
	if err := s.Shutdown(last); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// identified refuses requests without the token, or for another machine if there is none.
func identified(next http.Handler, token string) http.Handler {
	if token != "" {
		return authenticated(next, token)
	}
	return local(next)
}

// local refuses requests for other names than the names of this machine: a page could give its own name the address of the loopback.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
			refuse(w, http.StatusForbidden, 0, verbs.Problem{Detail: fmt.Sprintf("requests for host %q are refused without a token", host)})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authenticated refuses requests without the token, but for the health and the page, which nobody's objects are a part of and which asks for the
// token.
func authenticated(next http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		known := strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
		if !known && r.URL.Path != "/healthz" && !slices.Contains(page.Paths(), r.URL.Path) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, 0, verbs.Problem{Detail: "the request has no valid bearer token"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
