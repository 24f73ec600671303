package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
)

// httpClient calls methods as JSON over HTTP.
type httpClient struct {
	*http.Client
	base, token string
}

// httpConfig is testConfig with HTTP.
func httpConfig() config.Config {
	c := testConfig()
	c.HTTPAddress, c.MaxRequestDuration, c.MaxSnapshotBytes = "127.0.0.1:0", time.Minute, 1<<20
	return c
}

// overHTTP returns a client of a server, with TLS if there is a configuration of it.
func (r *running) overHTTP(t *testing.T, secure *tls.Config, token string) *httpClient {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: secure}
	t.Cleanup(transport.CloseIdleConnections)
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	return &httpClient{&http.Client{Transport: transport}, scheme + r.HTTPAddress().String(), token}
}

// post posts a body, with headers in pairs.
func (c *httpClient) post(t *testing.T, path string, body io.Reader, headers ...string) (*http.Response, []byte, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, text, err
}

// errorOf returns the error that an answer has.
func errorOf(t *testing.T, text []byte) error {
	t.Helper()
	var s spb.Status
	if err := protojson.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return status.ErrorProto(&s)
}

// call calls a method with messages, and returns the messages of the answer.
func (c *httpClient) call(t *testing.T, m rpc, requests ...proto.Message) (answers []proto.Message, err error) {
	t.Helper()
	var body bytes.Buffer
	for _, request := range requests {
		text, err := protojson.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		body.Write(append(text, '\n'))
	}
	response, text, err := c.post(t, m.path, &body)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	parts := [][]byte{text}
	if m.method.IsStreamingServer() {
		parts = bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	}
	for _, part := range parts {
		if len(text) == 0 {
			break // a stream without messages
		}
		if m.method.IsStreamingServer() {
			var of struct{ Result, Error json.RawMessage }
			if err := json.Unmarshal(part, &of); err == nil && of.Error != nil {
				return answers, errorOf(t, of.Error)
			} else if err == nil && of.Result != nil {
				part = of.Result
			}
		}
		if response.StatusCode != http.StatusOK {
			return answers, errorOf(t, part)
		}
		answer := dynamicpb.NewMessage(m.method.Output())
		if err := protojson.Unmarshal(part, answer); err != nil {
			t.Fatalf("%s: %v: %s", m.path, err, part)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// receiveAll calls a method over gRPC.
func (r *running) receiveAll(t *testing.T, m rpc, request proto.Message) (answers []proto.Message, err error) {
	t.Helper()
	stream := begin(t.Context(), t, r.conn, m.path, request)
	for {
		answer := dynamicpb.NewMessage(m.method.Output())
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
}

// TestHTTPAnswersAsGRPC compares the answers and errors of every method.
func TestHTTPAnswersAsGRPC(t *testing.T) {
	s := run(t, httpConfig(), t.Output(), nil, nil)
	web := s.overHTTP(t, nil, "")
	put, err := web.call(t, rpcOf(t, "PutSnapshot"), part(threeZones()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	address := put[0].ProtoReflect().Get(put[0].ProtoReflect().Descriptor().Fields().ByName("address")).String()
	inline := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}, IncludeNodeNames: true}
	queue := []*stowagev1.PendingPods{{Pod: apart(), Count: new(uint32(5))}}
	place := &stowagev1.PlaceRequest{Context: inline, Queue: queue, Explain: true, IncludeChanges: true}
	full := map[string]proto.Message{
		"Filter":      &stowagev1.FilterRequest{Context: inline, Pod: apart(), Explain: true},
		"Score":       &stowagev1.ScoreRequest{Context: inline, Pod: apart(), IncludePluginScores: true},
		"Place":       place,
		"PlaceStream": &stowagev1.PlaceStreamRequest{Place: place, PodsPerMessage: new(uint32(1))},
		"WhatIf":      &stowagev1.WhatIfRequest{Context: inline, Scenarios: []*stowagev1.Scenario{{Queue: queue}, {}}},
		"GetSnapshot": &stowagev1.GetSnapshotRequest{Address: address},
	}
	for _, m := range rpcs(t) {
		requests := []proto.Message{dynamicpb.NewMessage(m.method.Input())}
		if r := dynamicpb.NewMessage(m.method.Input()); at(r, address) {
			requests = append(requests, r)
		}
		if r := full[string(m.method.Name())]; r != nil {
			requests = append(requests, r)
		}
		for i, request := range requests {
			want, wantErr := s.receiveAll(t, m, request)
			got, gotErr := web.call(t, m, request)
			if !proto.Equal(status.Convert(gotErr).Proto(), status.Convert(wantErr).Proto()) {
				t.Errorf("%s %d: %v, gRPC says %v", m.path, i, gotErr, wantErr)
			}
			if len(got) != len(want) {
				t.Errorf("%s %d: %d messages, gRPC answers with %d", m.path, i, len(got), len(want))
				continue
			}
			for j := range got {
				if !proto.Equal(got[j], want[j]) {
					t.Errorf("%s %d: %v, gRPC answers with %v", m.path, i, got[j], want[j])
				}
			}
			if i == 2 && wantErr != nil {
				t.Errorf("%s: a request that should be valid is not: %v", m.path, wantErr)
			}
		}
	}
}

func rpcOf(t *testing.T, name string) rpc {
	t.Helper()
	for _, m := range rpcs(t) {
		if string(m.method.Name()) == name {
			return m
		}
	}
	t.Fatalf("there is no method %s", name)
	return rpc{}
}

// endlessBody is a body that does not end.
type endlessBody struct{}

func (endlessBody) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}

const filterPath = "/stowage.v1.PlacementService/Filter"

// TestHTTPRefusesWhatIsNoRequest sends what no caller should, and expects the path of the field.
func TestHTTPRefusesWhatIsNoRequest(t *testing.T) {
	s := run(t, httpConfig(), t.Output(), nil, nil)
	web := s.overHTTP(t, nil, "")
	node := func(field string) string { return `{"context":{"cluster":{"nodes":[{},{` + field + `}]}}}` }
	const at = "context.cluster.nodes[1]"
	for _, x := range []struct {
		name  string
		body  io.Reader
		code  int
		field string
		also  []string // headers
	}{
		{name: "no JSON", body: strings.NewReader("x"), code: 400},
		{name: "NUL", body: strings.NewReader("\x00"), code: 400},
		{name: "NUL in a string", body: strings.NewReader(node(`"name":"a\u0000"`)), code: 400, field: "pod"},
		{name: "no UTF-8", body: strings.NewReader(node("\"name\":\"\xff\"")), code: 400, field: at + ".name"},
		{name: "the end is missing", body: strings.NewReader(`{"context":{"cluster":`), code: 400, field: "context.cluster"},
		{name: "two requests", body: strings.NewReader(`{}{}`), code: 400},
		{name: "lists in lists", body: strings.NewReader(strings.Repeat("[", 1<<14)), code: 400},
		{name: "objects in objects", body: strings.NewReader(strings.Repeat(`{"context":`, 1<<10)), code: 400, field: "context"},
		{name: "an unknown field", body: strings.NewReader(node(`"names":1`)), code: 400, field: at},
		{name: "a field twice", body: strings.NewReader(node(`"name":"a","name":"b"`)), code: 400, field: at + ".name"},
		{name: "an unknown value", body: strings.NewReader(node(`"taints":[{"effect":"NONE"}]`)), code: 400, field: at + ".taints[0].effect"},
		{name: "a large number", body: strings.NewReader(node(`"allocatable":{"cpuMillis":1e999999999}`)), code: 400, field: at + ".allocatable.cpu_millis"},
		{name: "a long number", body: strings.NewReader(node(`"allocatable":{"pods":` + strings.Repeat("9", 1<<20) + `}`)), code: 400, field: at + ".allocatable.pods"},
		{name: "a fraction", body: strings.NewReader(node(`"allocatable":{"pods":1.5}`)), code: 400, field: at + ".allocatable.pods"},
		{name: "a long name", body: strings.NewReader(node(`"` + strings.Repeat("x", 1<<20) + `":1`)), code: 400, field: at},
		{name: "a long key", body: strings.NewReader(node(`"labels":{"` + strings.Repeat("x", 1<<20) + `":1}`)), code: 400, field: at + `.labels["` + strings.Repeat("x", 200) + `..."]`},
		{name: "no text", body: strings.NewReader(node(`"labels":{"a":1}`)), code: 400, field: at + `.labels["a"]`},
		{name: "a field of the contract's rules", body: strings.NewReader(`{"context":{"cluster":{"nodes":[{"name":"a"},{"name":"a"}]}},"pod":{}}`), code: 400, field: at + ".name"},
		{name: "too large", body: bytes.NewReader(make([]byte, 4<<20+1)), code: 413},
		{name: "without an end", body: endlessBody{}, code: 413},
		{name: "small, and much", body: strings.NewReader(`{"context":{"cluster":{"nodes":[` + strings.Repeat("{},", 1<<20)), code: 413},
		{name: "compressed", body: strings.NewReader("x"), code: 415, also: []string{"Content-Encoding", "gzip"}},
		{name: "of another page", body: strings.NewReader("{}"), code: 403, also: []string{"Sec-Fetch-Site", "cross-site"}},
		{name: "of another origin", body: strings.NewReader("{}"), code: 403, also: []string{"Origin", "https://example.com"}},
		{name: "for another host", body: strings.NewReader("{}"), code: 403, also: []string{"Host", "example.com"}},
	} {
		response, text, err := web.post(t, filterPath, x.body, x.also...)
		if err != nil {
			if x.code != 413 { // the server may close a connection that still sends
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		if response.StatusCode != x.code || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v %s, want %d", x.name, response.StatusCode, response.Header, text, x.code)
		}
		if len(text) > 8<<10 {
			t.Errorf("%s: the error has %d bytes", x.name, len(text))
		}
		_, _, _, bad := why(errorOf(t, text))
		if x.code == 400 && (len(bad) == 0 || bad[0].GetField() != x.field) {
			t.Errorf("%s: the field is %v, want %s", x.name, bad, x.field)
		}
	}
	if code, _ := s.get(t, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz answers %d", code)
	}
}

// TestHTTPPaths requests what is no call.
func TestHTTPPaths(t *testing.T) {
	s := run(t, httpConfig(), t.Output(), nil, nil)
	web := s.overHTTP(t, nil, "")
	for _, x := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/openapi.json", 200}, {"POST", "/openapi.json", 405}, {"GET", filterPath, 405}, {"OPTIONS", filterPath, 405},
		{"POST", "/stowage.v1.PlacementService/Filte", 404}, {"POST", "/stowage.v1.PlacementService%2fFilter/", 404}, {"GET", "/", 404},
		{"POST", "/grpc.health.v1.Health/Check", 404}, {"POST", "/stowage.v1.PlacementService/../x", 404},
	} {
		request, err := http.NewRequestWithContext(t.Context(), x.method, web.base+x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := web.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != x.code || response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: %d, %v, want %d: %.200s", x.method, x.path, response.StatusCode, err, x.code, text)
		}
		if allow := response.Header.Get("Allow"); (allow != "") != (x.code == http.StatusMethodNotAllowed) {
			t.Errorf("%s %s: %d with Allow %q", x.method, x.path, x.code, allow)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if x.code != http.StatusOK {
			_ = errorOf(t, text)
			continue
		}
		var document struct{ Paths map[string]any }
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		for _, m := range rpcs(t) {
			if document.Paths[m.path] == nil {
				t.Errorf("the description lacks %s", m.path)
			}
		}
		if len(document.Paths) != len(rpcs(t)) {
			t.Errorf("the description has %d paths, want %d", len(document.Paths), len(rpcs(t)))
		}
	}
}

// TestHTTPSlowBodies sends bodies that take too long to arrive, and a header that does not end.
func TestHTTPSlowBodies(t *testing.T) {
	c := httpConfig()
	c.MaxRequestDuration = 100 * time.Millisecond
	s := run(t, c, t.Output(), nil, nil)
	for _, head := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
		conn, err := net.Dial("tcp", s.HTTPAddress().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST "+filterPath+" HTTP/1.1\r\nHost: localhost\r\n"+head); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		if code, reason, _, _ := why(errorOf(t, text)); response.StatusCode != http.StatusRequestTimeout || code != codes.DeadlineExceeded || reason != "CANCELLED" {
			t.Errorf("a slow body: %d %s", response.StatusCode, text)
		}
		_, _ = response.Body.Close(), conn.Close()
	}
	for _, m := range s.memory.Counts() {
		eventually(t, "no "+m.Kind.String()+" of calls that have ended", func() bool { return s.memory.Counts()[m.Kind].Bytes == 0 })
	}
}

// TestHTTPBodiesHaveShares holds bodies that do not end: others of the client are refused with the time to come again.
func TestHTTPBodiesHaveShares(t *testing.T) {
	s := run(t, httpConfig(), t.Output(), nil, nil)
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for range 5 { // of which a client gets half of 32 MiB
		conn, err := net.Dial("tcp", s.HTTPAddress().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		if _, err := io.WriteString(conn, "POST "+filterPath+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the bodies are counted", func() bool { return s.memory.Counts()[0].Bytes >= 16000000 })
	web := s.overHTTP(t, nil, "")
	response, text, err := web.post(t, filterPath, strings.NewReader(`{"context":{"cluster":{"podTemplates":[`+strings.Repeat(" ", 3<<20)+"]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, reason, retry, _ := why(errorOf(t, text)); response.StatusCode != http.StatusTooManyRequests || reason != "OVERLOADED" || retry != time.Second ||
		response.Header.Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", response.StatusCode, response.Header, text)
	}
	if _, text, err := web.post(t, filterPath, strings.NewReader("{}")); err != nil || status.Code(errorOf(t, text)) != codes.InvalidArgument {
		t.Errorf("a small request: %v %s", err, text)
	}
}
