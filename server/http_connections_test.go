package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// open opens a connection, which the test closes, and sends a text.
func (r *running) open(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.HTTPAddress().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answerOf reads an answer.
func answerOf(t *testing.T, conn net.Conn) (*http.Response, []byte) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, text
}

// TestHTTPMalformedChunks sends a body whose chunks are none.
func TestHTTPMalformedChunks(t *testing.T) {
	s := run(t, httpConfig(), t.Output(), nil, nil)
	response, text := answerOf(t, s.open(t, "POST "+filterPath+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"))
	if code, reason, _, _ := why(errorOf(t, text)); response.StatusCode != http.StatusBadRequest || code != codes.InvalidArgument || reason != "INVALID_REQUEST" {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

// TestHTTPRefusals expects of methods that answer with a message and of methods that stream whether a caller may retry, and when.
func TestHTTPRefusals(t *testing.T) {
	cluster := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}}
	place := &stowagev1.PlaceRequest{Context: cluster, Queue: []*stowagev1.PendingPods{{Pod: apart()}}}
	for name, request := range map[string]proto.Message{"Place": place, "PlaceStream": &stowagev1.PlaceStreamRequest{Place: place}} {
		text, err := protojson.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		path := rpcOf(t, name).path
		c := httpConfig()
		c.RateLimitPerSecond = 0.5
		web := run(t, c, t.Output(), nil, nil).overHTTP(t, nil, "")
		response, answer, err := web.post(t, path, strings.NewReader(string(text)), "Stowage-Max-Answer-Bytes", "1")
		if err != nil || response.StatusCode != http.StatusUnprocessableEntity || response.Header.Get("Retry-After") != "" || !strings.Contains(string(answer), "ANSWER_TOO_LARGE") {
			t.Errorf("%s: an answer that is too large: %v %v %s", name, err, response, answer)
		}
		response, answer, err = web.post(t, path, strings.NewReader(string(text)))
		if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" || !strings.Contains(string(answer), "RATE_LIMITED") {
			t.Errorf("%s: a call too many: %v %v %s", name, err, response, answer)
		}
	}
}

// TestHTTPConnectionsTakeWhatTheyCount makes a call on each of many connections, which stay open.
func TestHTTPConnectionsTakeWhatTheyCount(t *testing.T) {
	const connections, text = 200, "POST " + filterPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
	s := run(t, httpConfig(), t.Output(), nil, nil)
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools keep
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	_, _ = answerOf(t, s.open(t, text))
	before, counted := memory(), s.held(ledger.Connections).Bytes
	for range connections {
		_, _ = answerOf(t, s.open(t, text))
	}
	took, counts := (memory()-before)/connections, (s.held(ledger.Connections).Bytes-counted)/connections
	t.Logf("a connection takes %d bytes, and counts as %d", took, counts)
	if took > counts {
		t.Errorf("a connection takes %d bytes, and counts as %d", took, counts)
	}
}

// TestSlowHTTPAndTheGracePeriod stops a server that a body without an end keeps waiting: calls over gRPC end in order before the period does.
func TestSlowHTTPAndTheGracePeriod(t *testing.T) {
	c := httpConfig()
	c.ShutdownGracePeriod = 2 * time.Second
	s := run(t, c, t.Output(), nil, nil)
	_ = s.open(t, "POST "+filterPath+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	eventually(t, "the body arrives", func() bool { return s.held(ledger.Receiving).Bytes > 0 })
	s.conn.Connect()
	eventually(t, "connected", func() bool { return s.conn.GetState() == connectivity.Ready })
	stopped := time.Now()
	s.stop()
	if !s.conn.WaitForStateChange(context.Background(), connectivity.Ready) || time.Since(stopped) >= c.ShutdownGracePeriod {
		t.Errorf("the connection was closed after %v", time.Since(stopped))
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}
