package page_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/page"
)

// sources are the files from which the page is built, as build.mjs lists them.
func sources(t *testing.T) []string {
	t.Helper()
	out, err := fs.Glob(os.DirFS("."), "src/*")
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	out = append(out, "package-lock.json", "build.mjs")
	slices.Sort(out)
	return out
}

// TestFilesAreCurrent compares the digest of the sources with the digest that make page wrote.
func TestFilesAreCurrent(t *testing.T) {
	h := sha256.New()
	for _, name := range sources(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h.Write([]byte(name + "\x00"))
		h.Write(text)
		h.Write([]byte{0})
	}
	want, err := os.ReadFile("files/SOURCES")
	if err != nil || hex.EncodeToString(h.Sum(nil)) != strings.TrimSpace(string(want)) {
		t.Errorf("the files of the page are older than its sources: make page (%v)", err)
	}
}

// TestNothingParsesMarkup searches for ways in which a text of a manifest could become markup or a program.
func TestNothingParsesMarkup(t *testing.T) {
	ways := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|eval\(|new Function|srcdoc|javascript:`)
	for _, name := range append(sources(t), "files/page.js") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := ways.Find(text); found != nil && name != "package-lock.json" {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// TestNoThirdParty searches for addresses of other hosts.
func TestNoThirdParty(t *testing.T) {
	for _, name := range []string{"src/index.html", "src/page.css", "src/engine.ts", "src/worker.ts", "src/main.ts"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "//") && regexp.MustCompile(`["'(]https?:|["'(]//`).Match(text) {
			t.Errorf("%s has an address", name)
		}
	}
}

func TestHandler(t *testing.T) {
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8", "/examples.json": "application/json",
	} {
		w := httptest.NewRecorder()
		page.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
