package identity

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer answers TokenReviews: of alice and of a token for another audience, and has an error on demand.
type apiServer struct {
	*httptest.Server
	asked  atomic.Int64
	broken atomic.Bool
	hold   chan struct{} // nil to answer at once
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	if a.hold != nil {
		<-a.hold
	}
	var in tokenReview
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case a.broken.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case err != nil, r.Method != http.MethodPost, r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews",
		r.Header.Get("Authorization") != "Bearer own", in.Kind != "TokenReview", !slices.Equal(in.Spec.Audiences, []string{"stowage"}):
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusCreated)
	switch in.Spec.Token {
	case "alice":
		_, _ = w.Write([]byte(`{"status": {"authenticated": true, "audiences": ["stowage"], "user": {"username": "alice", "groups": ["g", "h"]}}}`))
	case "unaware":
		_, _ = w.Write([]byte(`{"status": {"authenticated": true, "user": {"username": "alice"}}}`))
	default:
		_, _ = w.Write([]byte(`{"status": {"error": "unknown token"}}`))
	}
}

func newAPIServer(t *testing.T, hold chan struct{}) (*apiServer, *Kubernetes) {
	t.Helper()
	a := &apiServer{hold: hold}
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(a.Close)
	dir := t.TempDir()
	ca, token := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "token")
	for path, text := range map[string][]byte{
		ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}), token: []byte("own\n"),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := NewKubernetes(a.URL, ca, token, []string{"stowage"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return a, k
}

// TestReview expects the principals of a token, that they are remembered for a while, and none for tokens that are not valid here.
func TestReview(t *testing.T) {
	a, k := newAPIServer(t, nil)
	now := time.Now()
	k.reviewed.now = func() time.Time { return now }
	check := func(token, want string, asked int64) {
		t.Helper()
		got, err := k.Review(t.Context(), token)
		if err != nil || strings.Join(got, " ") != want || a.asked.Load() != asked {
			t.Errorf("%q is of %q, %v, after %d requests; want %q after %d", token, got, err, a.asked.Load(), want, asked)
		}
	}
	check("alice", "user:alice group:g group:h", 1)
	check("alice", "user:alice group:g group:h", 1)
	check("unaware", "", 2)
	check("bob", "", 3)
	check("bob", "", 3)
	check(strings.Repeat("x", maxTokenBytes+1), "", 3)
	now = now.Add(invalidFor)
	check("bob", "", 4)
	check("alice", "user:alice group:g group:h", 4)
	now = now.Add(validFor)
	check("alice", "user:alice group:g group:h", 5)
	now = now.Add(validFor)
	a.broken.Store(true)
	for range 2 { // an error is not remembered
		if got, err := k.Review(t.Context(), "alice"); err == nil || got != nil {
			t.Errorf("of a broken API server: %q, %v", got, err)
		}
	}
	a.broken.Store(false)
	check("alice", "user:alice group:g group:h", 8)
}

// TestReviewsAreBounded expects that tokens nobody knows hold neither many requests nor much memory.
func TestReviewsAreBounded(t *testing.T) {
	hold := make(chan struct{})
	a, k := newAPIServer(t, hold)
	var busy atomic.Int64
	var all sync.WaitGroup
	for i := range 4 * maxReviews {
		all.Go(func() {
			if _, err := k.Review(t.Context(), fmt.Sprint(i)); err != nil {
				busy.Add(1)
			}
		})
	}
	for a.asked.Load() < maxReviews || busy.Load() < 3*maxReviews {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	all.Wait()
	if a.asked.Load() != maxReviews {
		t.Errorf("%d requests, want %d", a.asked.Load(), maxReviews)
	}
	for i := range maxReviewed + 10 {
		k.reviewed.remember([32]byte{byte(i), byte(i >> 8), 1}, review{until: time.Now().Add(time.Hour)})
	}
	if n := len(*k.reviewed.known.Load()); n > maxReviewed {
		t.Errorf("%d tokens are remembered", n)
	}
}

func TestKubernetesFiles(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range [][2]string{{filepath.Join(dir, "none"), empty}, {empty, empty}} {
		if _, err := NewKubernetes("https://localhost", files[0], files[1], nil); err == nil {
			t.Errorf("%v are taken", files)
		}
	}
}
