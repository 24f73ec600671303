package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/serve"
)

const twoNodesText = `{"apiVersion":"v1","kind":"List","items":[{"kind":"Node","metadata":{"name":"a"}},{"kind":"Node","metadata":{"name":"b"}}]}`

// twoNodes writes a cluster.
func twoNodes(_ context.Context, w io.Writer) (string, error) {
	_, err := io.WriteString(w, twoNodesText)
	return "not read: \"jobs\"\nof a group: é", err
}

func TestCluster(t *testing.T) {
	o := serve.Defaults()
	without := start(t, echo{}, o)
	if code, body, header := send(t, request(t, "POST", without+"/v1/cluster", "", "")); code != 404 {
		t.Errorf("without a cluster: %d %s %v", code, body, header)
	}
	if _, _, header := send(t, request(t, "GET", without+"/healthz", "", "")); header.Get(serve.HasCluster) != "" {
		t.Errorf("without a cluster: %v", header)
	}
	o.Cluster = twoNodes
	url := start(t, echo{}, o)
	code, body, header := send(t, request(t, "POST", url+"/v1/cluster", "", ""))
	if code != 200 || body != twoNodesText || header.Get("Content-Type") != "application/json" || header.Get(serve.Notes) != `not read: \"jobs\"\nof a group: \u00e9` {
		t.Errorf("%d %s %v", code, body, header)
	}
	if _, _, header := send(t, request(t, "GET", url+"/healthz", "", "")); header.Get(serve.HasCluster) != "true" {
		t.Errorf("%v", header)
	}
	// A page of another origin has a browser send no POST, and a GET reads nothing.
	other := request(t, "POST", url+"/v1/cluster", "text/plain", "")
	other.Header.Set("Origin", "https://evil.example")
	if code, body, header := send(t, other); code != 403 {
		t.Errorf("another origin: %d %s %v", code, body, header)
	}
	if code, body, header := send(t, request(t, "GET", url+"/v1/cluster", "", "")); code != 405 {
		t.Errorf("GET: %d %s %v", code, body, header)
	}
}

// TestClusterIsForThisMachine calls the handler for another machine, as if the listener had been opened for all.
func TestClusterIsForThisMachine(t *testing.T) {
	o := serve.Defaults()
	o.Token, o.Cluster = "secret", twoNodes
	h, err := serve.NewHandler(echo{}, o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.1:1234"
		h.ServeHTTP(w, r)
	}))
	s.Start()
	t.Cleanup(s.Close)
	r := request(t, "POST", s.URL+"/v1/cluster", "", "")
	r.Header.Set("Authorization", "Bearer secret")
	if code, body, _ := send(t, r); code != 403 || strings.Contains(body, "Node") {
		t.Errorf("%d %s", code, body)
	}
}

// TestClustersThatCannotBeRead: the error says why, and nothing of the cluster is written.
func TestClustersThatCannotBeRead(t *testing.T) {
	began, wait := make(chan struct{}), make(chan struct{})
	for _, c := range []struct {
		name    string
		cluster func(context.Context, io.Writer) (string, error)
		code    int
		want    string
	}{
		{"an API server that refuses", func(_ context.Context, w io.Writer) (string, error) {
			_, _ = io.WriteString(w, twoNodesText)
			return "", errors.New("cluster https://c: cannot list pods: forbidden")
		}, 502, "cannot list pods"},
		{"a large one", func(_ context.Context, w io.Writer) (string, error) {
			for {
				if _, err := io.WriteString(w, twoNodesText); err != nil {
					return "", err
				}
			}
		}, 422, "the cluster has more than 1048576 bytes"},
		{"one that takes too long", func(ctx context.Context, _ io.Writer) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, 504, "deadline"},
	} {
		o := serve.Defaults()
		o.MaximumBody, o.MaximumTime, o.Cluster = 1<<20, 1500*time.Millisecond, c.cluster
		code, body, header := send(t, request(t, "POST", start(t, echo{}, o)+"/v1/cluster", "", ""))
		if code != c.code || !strings.Contains(body, c.want) || strings.Contains(body, "Node") {
			t.Errorf("%s: %d %s", c.name, code, body)
		}
		checkProblem(t, c.name, code, body, header)
	}
	o := serve.Defaults()
	o.MaximumWait = 10 * time.Millisecond
	o.Cluster = func(context.Context, io.Writer) (string, error) {
		began <- struct{}{}
		<-wait
		return "", nil
	}
	url := start(t, echo{}, o)
	ended := make(chan int)
	go func() {
		code, _, _ := send(t, request(t, "POST", url+"/v1/cluster", "", ""))
		ended <- code
	}()
	<-began
	if code, body, header := send(t, request(t, "POST", url+"/v1/cluster", "", "")); code != 429 || header.Get("Retry-After") != "1" {
		t.Errorf("a second reader: %d %s", code, body)
	}
	close(wait)
	if code := <-ended; code != 200 {
		t.Errorf("the first reader: %d", code)
	}
}
