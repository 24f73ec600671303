package serve_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/clients/serve"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// echo answers with the names and the lengths of what a call has.
type echo struct {
	err   error
	began chan struct{} // unless wait is nil, answers send to it before they wait
	wait  chan struct{} // unless nil, answers wait for it
	read  bool          // the body is read before that
}

func (echo) Verbs() []verbs.Verb {
	return []verbs.Verb{{Name: "place", Parameters: []verbs.Parameter{
		{Name: "file", Kind: verbs.File, Repeated: true}, {Name: "seed", Kind: verbs.Number}, {Name: "output"},
	}}}
}

func (e echo) Answer(ctx context.Context, c *verbs.Call, answer, _ io.Writer) (int, error) {
	if e.read {
		for i, f := range c.Files["file"] {
			text, err := io.ReadAll(f)
			if err != nil {
				return 2, err
			}
			c.Files["file"][i].Reader = bytes.NewReader(text)
		}
	}
	if e.wait != nil {
		e.began <- struct{}{}
		select {
		case <-e.wait:
		case <-ctx.Done():
			return 2, status.FromContextError(ctx.Err()).Err()
		}
	}
	if e.err != nil {
		return 2, e.err
	}
	got := struct {
		Values map[string][]string
		Files  map[string]int
	}{c.Values, map[string]int{}}
	for _, f := range c.Files["file"] {
		text, err := io.ReadAll(f)
		if err != nil {
			return 2, err
		}
		got.Files[f.Name] = len(text)
	}
	return 1, json.NewEncoder(answer).Encode(got)
}

func start(t *testing.T, a verbs.Answerer, o serve.Options) string {
	t.Helper()
	h, err := serve.NewHandler(a, o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func send(t *testing.T, request *http.Request) (code int, body string, header http.Header) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func request(t *testing.T, method, url, contentType, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	return r
}

const formType = "multipart/form-data; boundary=x"

func part(name, file, content string) string {
	if file != "" {
		file = `; filename="` + file + `"`
	}
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"" + file + "\r\n\r\n" + content + "\r\n"
}

func TestRequests(t *testing.T) {
	o := serve.Defaults()
	o.MaximumBody = 64 << 10
	url := start(t, echo{}, o)
	for name, c := range map[string]struct {
		method, path, contentType, body string
		chunked                         bool
		code                            int
		want                            string
	}{
		"a body":                    {path: "/v1/place?seed=7", body: "12345", code: 200, want: `{"Values":{"output":["json"],"seed":["7"]},"Files":{"body":5}}`},
		"a form":                    {path: "/v1/place", contentType: formType, body: part("file", "a.yaml", "123") + part("seed", "", "8") + part("output", "", "name") + "--x--", code: 200, want: `{"Values":{"output":["name"],"seed":["8"]},"Files":{"a.yaml":3}}`},
		"an unknown verb":           {path: "/v1/bind", code: 404, want: "there is no such path; /openapi.json lists all"},
		"no path":                   {method: "OPTIONS", path: "/nothing", code: 404, want: "there is no such path"},
		"another method":            {method: "GET", path: "/v1/place", code: 405, want: "the HTTP method has to be POST"},
		"a preflight":               {method: "OPTIONS", path: "/v1/place", code: 405, want: "the HTTP method has to be POST"},
		"a document posted":         {path: "/openapi.json", code: 405, want: "the HTTP method has to be GET, HEAD"},
		"a query with a flaw":       {path: "/v1/place?a=%zz", code: 400, want: `the query: invalid URL escape \"%zz\"`},
		"a large body":              {path: "/v1/place", body: strings.Repeat("x", 65<<10), code: 413, want: "the body has more than 65536 bytes"},
		"a large body of no length": {path: "/v1/place", body: strings.Repeat("x", 65<<10), chunked: true, code: 413, want: "the body has more than 65536 bytes"},
		"a large form":              {path: "/v1/place", contentType: formType, body: part("file", "a", strings.Repeat("x", 65<<10)), code: 413, want: "the body has more than 65536 bytes"},
		"an unknown part":           {path: "/v1/place", contentType: formType, body: part("kubeconfig", "", "a") + "--x--", code: 400, want: `place has no parameter \"kubeconfig\"`},
		"no boundary":               {path: "/v1/place", contentType: "multipart/form-data", body: "x", code: 400, want: "the form: "},
		"a torn form":               {path: "/v1/place", contentType: formType, body: part("file", "a", "b")[:30], code: 400, want: "the form: it ends before its last boundary"},
		"a form of parts":           {path: "/v1/place", contentType: formType, body: strings.Repeat(part("seed", "", "1"), 101) + "--x--", code: 400, want: "the form has more than 100 parts"},
		"health":                    {method: "GET", path: "/healthz", code: 200, want: "ok"},
		"a schema":                  {method: "GET", path: "/schemas/place.json", code: 200, want: `"$schema": "https://json-schema.org/draft/2020-12/schema"`},
		"a description":             {method: "GET", path: "/openapi.json", code: 200, want: `"openapi": "3.1.0"`},
	} {
		r := request(t, cmp.Or(c.method, "POST"), url+c.path, c.contentType, c.body)
		if c.chunked {
			r.ContentLength = -1
		}
		code, body, header := send(t, r)
		if code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", name, code, body)
		}
		if header.Get("Access-Control-Allow-Origin") != "" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", name, header)
		}
		if code >= 400 {
			checkProblem(t, name, code, body, header)
		}
	}
}

// checkProblem expects the form of all errors, and with 405 the methods that are allowed.
func checkProblem(t *testing.T, name string, code int, body string, header http.Header) {
	t.Helper()
	var p struct {
		Title  string
		Status int
		Errors []verbs.Problem
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %v: %s of type %s", name, err, body, header.Get("Content-Type"))
	}
	if p.Status != code || p.Title == "" || len(p.Errors) == 0 || p.Errors[0].Detail == "" {
		t.Errorf("%s: %s", name, body)
	}
	if (header.Get("Allow") != "") != (code == http.StatusMethodNotAllowed) {
		t.Errorf("%s: %d with Allow %q", name, code, header.Get("Allow"))
	}
}

// TestDescription holds that /openapi.json has all paths, the errors with statuses of their own, and the token.
func TestDescription(t *testing.T) {
	_, body, _ := send(t, request(t, "GET", start(t, echo{}, serve.Defaults())+"/openapi.json", "", ""))
	var d struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Headers map[string]any }
		}
		Security   []map[string]any
		Components struct {
			SecuritySchemes map[string]struct{ Type, Scheme string }
		}
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	for path, method := range map[string]string{"/v1/place": "post", "/healthz": "get", "/schemas/{verb}.json": "get"} {
		if _, ok := d.Paths[path][method].Responses["200"]; !ok {
			t.Errorf("%s %s is not described", method, path)
		}
	}
	for code, retry := range map[string]bool{"413": false, "422": false, "429": true, "503": true} {
		r, ok := d.Paths["/v1/place"]["post"].Responses[code]
		if _, after := r.Headers["Retry-After"]; !ok || after != retry {
			t.Errorf("%s: %v", code, r)
		}
	}
	if token := d.Components.SecuritySchemes["token"]; token.Type != "http" || token.Scheme != "bearer" || len(d.Security) != 2 {
		t.Errorf("%v %v", token, d.Security)
	}
}

// TestCoding sends bodies in codings that are not unpacked.
func TestCoding(t *testing.T) {
	url := start(t, echo{}, serve.Defaults())
	for coding, want := range map[string]int{"br": 415, "zstd": 415, "gzip, br": 415, "gzip": 200, "identity": 200} {
		r := request(t, "POST", url+"/v1/place", "", "a")
		r.Header.Set("Content-Encoding", coding)
		code, body, header := send(t, r)
		if code != want || want == 415 && header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("%s: %d %s %v", coding, code, body, header)
		}
		if code >= 400 {
			checkProblem(t, coding, code, body, header)
		}
	}
}

// TestPacked sends a packed body: it may take what the largest one takes.
func TestPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Close()
	began, wait := make(chan struct{}), make(chan struct{})
	o := serve.Defaults()
	o.MaximumBody, o.MaximumBodies, o.MaximumWait = 64<<10, 64<<10, 10*time.Millisecond
	url := start(t, echo{began: began, wait: wait}, o)
	first := make(chan int)
	go func() {
		code, _, _ := send(t, request(t, "POST", url+"/v1/place", "", packed.String()))
		first <- code
	}()
	<-began
	code, body, header := send(t, request(t, "POST", url+"/v1/place", "", "1"))
	if code != 429 || !strings.Contains(body, "too many requests") || header.Get("Retry-After") != "1" {
		t.Error(code, body, header)
	}
	close(wait)
	if code := <-first; code != 200 {
		t.Error(code)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		want string
	}{
		"of the call":     {&verbs.InvalidError{Problems: []verbs.Problem{{Object: "a.yaml: Pod x", Field: "spec", Detail: "<b>"}}}, 400, `"object": "a.yaml: Pod x"`},
		"markup is JSON":  {&verbs.InvalidError{Problems: []verbs.Problem{{Detail: "<b>"}}}, 400, `"detail": "<b>"`},
		"of the server":   {status.Error(codes.Unavailable, "it restarts"), 503, "it restarts"},
		"too much now":    {detailed(t, &errdetails.RetryInfo{RetryDelay: durationpb.New(2500 * time.Millisecond)}), 429, "memory"},
		"too much ever":   {detailed(t, &errdetails.ErrorInfo{Reason: "REQUEST_TOO_LARGE"}), 413, "memory"},
		"too long ever":   {fmt.Errorf("place: %w", detailed(t, &errdetails.ErrorInfo{Reason: "ANSWER_TOO_LARGE"})), 422, "memory"},
		"of the deadline": {status.Error(codes.DeadlineExceeded, "late"), 504, "late"},
		"of no kind":      {errors.New("disk"), 500, "disk"},
	} {
		code, body, header := send(t, request(t, "POST", start(t, echo{err: c.err}, serve.Defaults())+"/v1/place", "", "a"))
		if code != c.code || !strings.Contains(body, c.want) || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, code, body)
		}
		if want := map[int]string{429: "3", 503: "1"}[code]; header.Get("Retry-After") != want {
			t.Errorf("%s: Retry-After %q, want %q", name, header.Get("Retry-After"), want)
		}
	}
}

// detailed is an error of a server that lacks room.
func detailed(t *testing.T, detail protoadapt.MessageV1) error {
	t.Helper()
	s, err := status.New(codes.ResourceExhausted, "memory").WithDetails(detail)
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// TestLongAnswer: an answer may take longer than its body.
func TestLongAnswer(t *testing.T) {
	o := serve.Defaults()
	o.MaximumReceive = 50 * time.Millisecond
	e := echo{began: make(chan struct{}), wait: make(chan struct{}), read: true}
	url := start(t, e, o)
	go func() {
		<-e.began
		time.Sleep(4 * o.MaximumReceive)
		close(e.wait)
	}()
	if code, body, _ := send(t, request(t, http.MethodPost, url+"/v1/place", "", "body")); code != http.StatusOK {
		t.Error(code, body)
	}
}

// TestDeadline: a request whose deadline passes before its answer is decided learns that.
func TestDeadline(t *testing.T) {
	o := serve.Defaults()
	o.MaximumTime = time.Second
	e := echo{began: make(chan struct{}, 1), wait: make(chan struct{})}
	code, body, header := send(t, request(t, http.MethodPost, start(t, e, o)+"/v1/place", "", "body"))
	if code != http.StatusGatewayTimeout {
		t.Error(code, body)
	}
	checkProblem(t, "the deadline", code, body, header)
}
