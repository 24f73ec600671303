package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/server/caller"
)

// issuing is an OpenID Connect issuer whose keys change and which can be down. Tokens are for its clock.
type issuing struct {
	oidctest.Server
	url     string
	now     time.Time
	fetches atomic.Int64
	down    atomic.Bool
}

func (s *issuing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.fetches.Add(1)
	if s.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.Server.ServeHTTP(w, r)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publish makes a key the issuer's only one.
func (s *issuing) publish(id string, key *ecdsa.PrivateKey) {
	s.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: id, Algorithm: oidc.ES256}}
}

// token is one of alice for stowage that lasts an hour. Further claims, such as , "sub": "bob", replace its own.
func (s *issuing) token(id string, key crypto.PrivateKey, algorithm, further string) string {
	claims := fmt.Sprintf(`{"iss": %q, "aud": "stowage", "sub": "alice", "exp": %d%s}`, s.url, s.now.Add(time.Hour).Unix(), further)
	return oidctest.SignIDToken(key, id, algorithm, claims)
}

// runIssuer runs an issuer, and returns it with the Issuer that verifies its tokens at its clock.
func runIssuer(t *testing.T, settings IssuerSettings) (*issuing, *Issuer) {
	t.Helper()
	s := &issuing{Server: oidctest.Server{Algorithms: []string{oidc.ES256, "HS256", "none"}}, now: time.Now()}
	h := httptest.NewTLSServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL
	s.SetIssuer(h.URL)
	settings.Name, settings.URL, settings.Audiences = "corp", h.URL, []string{"other", "stowage"}
	settings.CertificateAuthority = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	var problems []error
	settings.check("issuers[0]", func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	})
	if problems != nil {
		t.Fatal(problems)
	}
	i := newIssuer(settings)
	i.reviewed.now = func() time.Time { return s.now }
	return s, i
}

// TestIssuerVerifies expects the principals of a token, and none of tokens that are not the issuer's, not for this server, or not valid
// now.
func TestIssuerVerifies(t *testing.T) {
	s, i := runIssuer(t, IssuerSettings{})
	key := newKey(t)
	s.publish("k", key)
	secret := []byte("0123456789abcdef0123456789abcdef")
	at := func(d time.Duration) int64 { return s.now.Add(d).Unix() }
	for name, test := range map[string]struct{ token, want string }{
		"valid":                {s.token("k", key, oidc.ES256, ""), "oidc-user:corp:alice"},
		"groups":               {s.token("k", key, oidc.ES256, `, "groups": ["a", 7, "b:c"]`), "oidc-user:corp:alice oidc-group:corp:a oidc-group:corp:b:c"},
		"one group":            {s.token("k", key, oidc.ES256, `, "groups": "a"`), "oidc-user:corp:alice oidc-group:corp:a"},
		"several audiences":    {s.token("k", key, oidc.ES256, `, "aud": ["x", "stowage"]`), "oidc-user:corp:alice"},
		"soon":                 {s.token("k", key, oidc.ES256, fmt.Sprintf(`, "nbf": %d`, at(time.Minute))), "oidc-user:corp:alice"},
		"another audience":     {s.token("k", key, oidc.ES256, `, "aud": "x"`), ""},
		"no audience":          {s.token("k", key, oidc.ES256, `, "aud": []`), ""},
		"another issuer":       {s.token("k", key, oidc.ES256, `, "iss": "https://x.example"`), ""},
		"expired":              {s.token("k", key, oidc.ES256, fmt.Sprintf(`, "exp": %d`, at(-time.Second))), ""},
		"for ever":             {s.token("k", key, oidc.ES256, `, "exp": null`), ""},
		"not yet":              {s.token("k", key, oidc.ES256, fmt.Sprintf(`, "nbf": %d`, at(time.Hour))), ""},
		"no subject":           {s.token("k", key, oidc.ES256, `, "sub": ""`), ""},
		"a subject of numbers": {s.token("k", key, oidc.ES256, `, "sub": 7`), ""},
		"another key":          {s.token("k", newKey(t), oidc.ES256, ""), ""},
		"a shared secret":      {s.token("k", secret, "HS256", ""), ""},
		"changed":              {strings.Replace(s.token("k", key, oidc.ES256, ""), ".", ".e", 1), ""},
		"not signed":           {unsigned(s.token("k", key, oidc.ES256, "")), ""},
		"no token":             {"x", ""},
		"an endless token":     {strings.Repeat("x", maxTokenBytes+1), ""},
	} {
		got, err := i.Review(t.Context(), test.token)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, test.want)
		}
	}
}

// unsigned is a token whose algorithm is none.
func unsigned(token string) string {
	return "eyJhbGciOiJub25lIn0." + strings.Split(token, ".")[1] + "."
}

// TestIssuerClaims expects that other claims name users and groups, and an address only if it is verified.
func TestIssuerClaims(t *testing.T) {
	s, i := runIssuer(t, IssuerSettings{UsernameClaim: "email", GroupsClaim: "roles"})
	key := newKey(t)
	s.publish("k", key)
	for claims, want := range map[string]string{
		`, "email": "a@x", "groups": ["g"], "roles": ["r"]`: "oidc-user:corp:a@x oidc-group:corp:r",
		`, "email": "a@x", "email_verified": true`:          "oidc-user:corp:a@x",
		`, "email": "a@x", "email_verified": false`:         "",
		`, "email": "a@x", "email_verified": "true"`:        "",
		``: "",
	} {
		if got, err := i.Review(t.Context(), s.token("k", key, oidc.ES256, claims)); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %q", claims, got, err, want)
		}
	}
}

// TestIssuerKeys expects that a new key counts at once, one that was withdrawn an hour later at most, that tokens are remembered until
// they expire, that tokens of unknown keys do not flood the issuer, and an error rather than a refusal while it is down.
func TestIssuerKeys(t *testing.T) {
	s, i := runIssuer(t, IssuerSettings{})
	check := func(what, token string, valid, failed bool) {
		t.Helper()
		got, err := i.Review(t.Context(), token)
		if (len(got) > 0) != valid || (err != nil) != failed {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	old, next := newKey(t), newKey(t)
	s.down.Store(true)
	s.publish("old", old)
	first := s.token("old", old, oidc.ES256, `, "jti": "1"`)
	check("the issuer is down", first, false, true)
	s.down.Store(false)
	check("the issuer is up", first, true, false)
	fetched := s.fetches.Load()
	check("remembered", first, true, false)
	check("another token", s.token("old", old, oidc.ES256, `, "jti": "2"`), true, false)
	if now := s.fetches.Load(); now != fetched {
		t.Errorf("%d fetches for known keys", now-fetched)
	}
	time.Sleep(2 * time.Second / fetchesPerSecond)
	s.publish("next", next)
	check("a new key", s.token("next", next, oidc.ES256, ""), true, false)
	fetched = s.fetches.Load()
	refused, begin := 0, time.Now()
	for n := range 50 {
		if _, err := i.Review(t.Context(), s.token(fmt.Sprint("unknown-", n), old, oidc.ES256, "")); errors.Is(err, errFetches) {
			refused++
		}
	}
	allowed := fetchBurst + 1 + int64(fetchesPerSecond*time.Since(begin).Seconds())
	if now := s.fetches.Load() - fetched; now > allowed || refused < 20 { // calls during a fetch wait for it
		t.Errorf("50 unknown keys: %d fetches, %d refused", now, refused)
	}
	last := s.token("next", next, oidc.ES256, fmt.Sprintf(`, "exp": %d`, s.now.Add(10*time.Second).Unix()))
	check("a token that expires", last, true, false)
	s.now = s.now.Add(10*time.Second + time.Millisecond)
	check("an expired token", last, false, false)

	s.now = s.now.Add(discoverEvery)
	s.down.Store(true)
	check("known keys while the issuer is down", s.token("next", next, oidc.ES256, ""), true, false)
	s.down.Store(false)
	s.now = s.now.Add(discoverAgain)
	time.Sleep(2 * time.Second / fetchesPerSecond)
	s.publish("old", old)
	check("a key that was withdrawn", s.token("next", next, oidc.ES256, `, "jti": "3"`), false, false)
}

// TestManyTokensAtTheStart expects that many callers with tokens of their own are all admitted, with few requests to the issuer.
func TestManyTokensAtTheStart(t *testing.T) {
	s, i := runIssuer(t, IssuerSettings{})
	key := newKey(t)
	s.publish("k", key)
	var all sync.WaitGroup
	for n := range maxReviews {
		token := s.token("k", key, oidc.ES256, fmt.Sprintf(`, "jti": "%d"`, n))
		all.Go(func() {
			if got, err := i.Review(t.Context(), token); err != nil || len(got) != 1 {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := s.fetches.Load(); n > fetchBurst {
		t.Errorf("%d fetches", n)
	}
}

// TestTokensFindTheirReviewer expects that the issuer that a token names alone verifies it, and that the API server reviews tokens of
// others.
func TestTokensFindTheirReviewer(t *testing.T) {
	s, i := runIssuer(t, IssuerSettings{})
	key := newKey(t)
	s.publish("k", key)
	rules, err := ParseRules([]byte(fmt.Sprintf(`
issuers:
- {name: corp, url: %q, audiences: [stowage]}
rules: [{callers: ["oidc-group:corp:team", "user:*"], tenant: t, methods: ["*"]}]
`, s.url)))
	if err != nil {
		t.Fatal(err)
	}
	rules.issuers[s.url] = i
	reviewed := &reviewerOf{}
	a := New(rules, reviewed)
	admit := func(token string) (name string, code codes.Code) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+token))
		ctx, err := a.Admit(ctx, "/stowage.v1.PlacementService/Filter")
		if err != nil {
			return "", status.Code(err)
		}
		return caller.From(ctx).Name, codes.OK
	}
	foreign := s.token("k", key, oidc.ES256, `, "iss": "https://kubernetes.default.svc"`)
	for _, test := range []struct {
		what, token, name string
		code              codes.Code
		reviewed          bool
	}{
		{"in the group", s.token("k", key, oidc.ES256, `, "groups": ["team"]`), "oidc-user:corp:alice", codes.OK, false},
		{"in none", s.token("k", key, oidc.ES256, ""), "", codes.PermissionDenied, false},
		{"not valid", s.token("k", newKey(t), oidc.ES256, ""), "", codes.Unauthenticated, false},
		{"of the cluster", foreign, "user:x", codes.OK, true},
		{"opaque", "x", "user:x", codes.OK, true},
	} {
		reviewed.tokens = nil
		name, code := admit(test.token)
		if name != test.name || code != test.code || slices.Contains(reviewed.tokens, test.token) != test.reviewed {
			t.Errorf("%s: %s %v, reviewed %t", test.what, name, code, len(reviewed.tokens) > 0)
		}
	}
}

// reviewerOf takes every token for one of user:x.
type reviewerOf struct{ tokens []string }

func (r *reviewerOf) Recall(string) []string { return nil }

func (r *reviewerOf) Review(_ context.Context, token string) ([]string, error) {
	r.tokens = append(r.tokens, token)
	return []string{"user:x"}, nil
}
