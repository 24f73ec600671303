package cli_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestManifestsAreReadFromURLs(t *testing.T) {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	defer s.Close()
	serve := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	serve("/nodes.yaml", "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {pods: 9}}}")
	serve("/page", "<!doctype html><html><body>Sign in</body></html>")
	serve("/misspelt", "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {unschedulabel: true}}")
	mux.HandleFunc("/pod.yaml.gz", func(w http.ResponseWriter, _ *http.Request) {
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
		_ = z.Close()
	})
	mux.Handle("/moved", http.RedirectHandler("/nodes.yaml", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	code, stdout, stderr := stowage(t, "place", "-f", s.URL+"/moved", "-f", s.URL+"/pod.yaml.gz")
	if code != 0 || !strings.Contains(stdout, "1 of 1 pod placed") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	for path, want := range map[string]string{
		"/none":     s.URL + "/none: 404 Not Found",
		"/loop":     "more than 5 redirects",
		"/misspelt": s.URL + `/misspelt: document 1: Node a: unknown field "spec.unschedulabel"`,
		"/page":     s.URL + "/page: document 1: ",
	} {
		if code, _, stderr := stowage(t, "place", "-f", s.URL+path); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %q, want %q", path, code, stderr, want)
		}
	}
	secure := httptest.NewTLSServer(mux)
	defer secure.Close()
	if code, _, stderr := stowage(t, "place", "-f", secure.URL+"/nodes.yaml"); code != 2 || !strings.Contains(stderr, "certificate") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	for _, from := range []string{
		strings.Replace(s.URL, "//", "//user:hidden@", 1) + "/none?token=hidden", "http://user:hidden@[::1", "http://127.0.0.1:1/?token=hidden",
	} {
		if code, _, stderr := stowage(t, "place", "-f", from); code != 2 || strings.Contains(stderr, "hidden") {
			t.Errorf("%s: exit %d, %q", from, code, stderr)
		}
	}
}
