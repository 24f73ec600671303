package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/serve"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// recorder is a response without a connection, which needs no deadlines.
type recorder struct{ *httptest.ResponseRecorder }

func (recorder) SetReadDeadline(time.Time) error  { return nil }
func (recorder) SetWriteDeadline(time.Time) error { return nil }

const (
	objects = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n" +
		"apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n"
	many = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {replicas: 9999, selector: {matchLabels: {a: b}}, " +
		"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
)

// FuzzRequest sends requests to the questions of the command. Each is answered, or is the fault of the caller, and leaves its room to others.
func FuzzRequest(f *testing.F) {
	for _, verb := range []string{"place", "explain", "what-if", "drain", "audit"} {
		f.Add(verb, "node=a&scale=deploy/web=3", "", []byte(objects))
		f.Add(verb, "output=html&pod=web", formType, []byte(part("file", "a.yaml", objects)+part("file", "b", many)+"--x--"))
		f.Add(verb, "", "", []byte(`{"apiVersion":"v1","kind":"List","items":[{"kind":"Node"},{"a":[[[[[1e999]]]]]}]}`))
	}
	f.Add("place", "seed=1", formType, []byte(part("profile", "p", "profiles: [{}]")+part("file", "", "a: &a [x]\nb: *a")))
	f.Add("fit", "%zz", "multipart/form-data", []byte("\x1f\x8b\x00"))
	client, stop, err := embedded.Dial(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = stop() })
	a, err := cli.NewAnswerer(client)
	if err != nil {
		f.Fatal(err)
	}
	o := serve.Defaults()
	o.MaximumBody, o.MaximumBodies, o.MaximumAnswer, o.MaximumAnswers, o.MaximumWait = 1<<20, 4<<20, 1<<20, 1, 10*time.Second
	h, err := serve.NewHandler(a, o)
	if err != nil {
		f.Fatal(err)
	}
	ask := func(verb, query, contentType string, body []byte) recorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/place", bytes.NewReader(body))
		r.URL.Path, r.URL.RawQuery = "/v1/"+verb, query
		r.Header.Set("Content-Type", contentType)
		w := recorder{httptest.NewRecorder()}
		h.ServeHTTP(w, r)
		return w
	}
	f.Fuzz(func(t *testing.T, verb, query, contentType string, body []byte) {
		if strings.Contains(verb, ".") || strings.Contains(verb, "/") {
			t.Skip("the path is another one")
		}
		w := ask(verb, query, contentType, body)
		if !slices.Contains([]int{200, 400, 404, 413, 422}, w.Code) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w.Code >= 400 {
			var p struct{ Errors []verbs.Problem }
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || len(p.Errors) == 0 || p.Errors[0].Detail == "" {
				t.Errorf("%v: %s", err, w.Body)
			}
		}
		if w := ask("place", "", "", slices.Concat([]byte(objects), bytes.Repeat([]byte("#"), 1<<19))); w.Code != http.StatusOK {
			t.Errorf("after that: %d %s", w.Code, w.Body)
		}
	})
}
