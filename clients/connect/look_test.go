package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/stowage-scheduler/stowage/clients/lease"
)

// The API server does not bind at first, and what was decided does not hold any more when the client tries again.
func TestARequestIsLookedAtEachTimeThatItIsSent(t *testing.T) {
	for status, unclear := range map[int]bool{http.StatusTooManyRequests: false, http.StatusServiceUnavailable: true} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			var sent atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				sent.Add(1)
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			Looking(config)
			api, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			outdated := errors.New("out of date")
			var looks atomic.Int32 // two for each time
			ctx, look := WithLook(t.Context(), func() error {
				if looks.Add(1) > 4 {
					return outdated
				}
				return nil
			})
			err = api.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
			if !errors.Is(err, outdated) {
				t.Errorf("the error is %v", err)
			}
			if sent.Load() != 2 {
				t.Errorf("it was sent %d times", sent.Load())
			}
			if got := look.Unclear(); (got != nil) != unclear {
				t.Errorf("what became of it is unclear: %v", got)
			}
		})
	}
}

// post sends a request that is looked at, and reads the answer to its end.
func post(ctx context.Context, to http.RoundTripper, url string) error {
	config := &rest.Config{}
	Looking(config)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("bind"))
	if err != nil {
		return err
	}
	answer, err := config.WrapTransport(to).RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.ReadAll(answer.Body)
	return err
}

// sends is a transport that the test implements.
type sends func(*http.Request) (*http.Response, error)

func (s sends) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// cut is a body that ends with an error.
type cut struct{ error }

func (c cut) Read([]byte) (int, error) { return 0, c.error }

// A connection also ends with ErrNotHeld requests that it has sent.
func TestARequestThatWasSentIsUnclear(t *testing.T) {
	answered := func(status int) sends {
		return func(r *http.Request) (*http.Response, error) {
			_, err := io.ReadAll(r.Body)
			return &http.Response{StatusCode: status, Body: io.NopCloser(cut{lease.ErrNotHeld})}, err
		}
	}
	for name, c := range map[string]struct {
		sends   sends
		unclear bool
	}{
		"not sent": {func(*http.Request) (*http.Response, error) { return nil, lease.ErrNotHeld }, false},
		"sent in part": {func(r *http.Request) (*http.Response, error) {
			_, err := r.Body.Read(make([]byte, 1))
			return nil, errors.Join(lease.ErrNotHeld, err)
		}, true},
		"sent again by a connection that fails": {func(r *http.Request) (*http.Response, error) {
			_, _ = io.ReadAll(r.Body)
			_, err := r.GetBody()
			return nil, errors.Join(lease.ErrNotHeld, err)
		}, false},
		"sent again": {func(r *http.Request) (*http.Response, error) {
			again, err := r.GetBody()
			_, _ = io.ReadAll(again)
			return nil, errors.Join(lease.ErrNotHeld, err)
		}, true},
		"carried out, and the answer is cut off": {answered(http.StatusCreated), true},
		"refused, and the answer is cut off":     {answered(http.StatusTooManyRequests), false},
	} {
		t.Run(name, func(t *testing.T) {
			var sent *http.Request
			ctx, look := WithLook(t.Context(), func() error { return nil })
			err := post(ctx, sends(func(r *http.Request) (*http.Response, error) { sent = r; return c.sends(r) }), "http://api")
			if !errors.Is(err, lease.ErrNotHeld) {
				t.Errorf("the error is %v", err)
			}
			if got := look.Unclear(); (got != nil) != c.unclear {
				t.Errorf("what became of it is unclear: %v", got)
			}
			if n, err := sent.Body.Read(make([]byte, 1)); !c.unclear && n > 0 {
				t.Errorf("%d bytes are read after the end: %v", n, err)
			}
		})
	}
}

// The term ends while the server carries out a request. The server pings, and the connection cannot answer.
func TestARequestOnAConnectionThatCannotAnswerAPing(t *testing.T) {
	var term atomic.Uint64
	term.Store(1)
	carriedOut := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		carriedOut = string(b) == "bind" && err == nil
		term.Store(0)
		<-r.Context().Done() // the connection has failed
	}))
	server.EnableHTTP2 = true
	server.Config.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Millisecond}
	server.StartTLS()
	transport := server.Client().Transport.(*http.Transport)
	transport.DialContext = lease.Dialer(term.Load, time.Second)
	ctx, look := WithLook(t.Context(), func() error { return nil })
	err := post(ctx, transport, server.URL)
	server.Close() // waits for the handler
	if !carriedOut || !errors.Is(err, lease.ErrNotHeld) || look.Unclear() == nil {
		t.Errorf("carried out: %v, with the error %v, unclear: %v", carriedOut, err, look.Unclear())
	}
}

// A request is looked at, waits, and gets a connection of a later term: its body is not sent.
func TestARequestThatGetsAConnectionOfALaterTerm(t *testing.T) {
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", major), func(t *testing.T) {
			var carriedOut atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err == nil && r.ProtoMajor == major {
					carriedOut.Add(1)
				}
			}))
			server.EnableHTTP2 = major == 2
			server.StartTLS()
			transport := server.Client().Transport.(*http.Transport)
			var term atomic.Uint64
			term.Store(1)
			transport.DialContext = lease.Dialer(term.Load, time.Second)
			outdated := errors.New("out of date")
			bind := func(before func()) (*Look, error) {
				decided := term.Load()
				ctx, look := WithLook(t.Context(), func() error {
					if term.Load() != decided {
						return outdated
					}
					return nil
				})
				return look, post(ctx, sends(func(r *http.Request) (*http.Response, error) { before(); return transport.RoundTrip(r) }),
					server.URL)
			}
			look, err := bind(func() { term.Store(2) })
			if !errors.Is(err, outdated) || look.Unclear() != nil {
				t.Errorf("decided in term 1, sent in term 2: %v, unclear: %v", err, look.Unclear())
			}
			if _, err := bind(func() {}); err != nil {
				t.Errorf("decided and sent in term 2: %v", err)
			}
			server.Close() // waits for the handlers
			if n := carriedOut.Load(); n != 1 {
				t.Errorf("%d requests are carried out, want 1", n)
			}
		})
	}
}
