package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"github.com/stowage-scheduler/stowage/server/rate"
)

const (
	// discoverEvery bounds the age of the discovered settings of an issuer, and so how long a key that it withdrew is still
	// accepted.
	discoverEvery = time.Hour
	// discoverAgain is the interval between attempts to reach an issuer that is down.
	discoverAgain = time.Minute
	// fetchesPerSecond and fetchBurst bound the requests to an issuer: each token with an unknown key triggers a fetch of the keys.
	fetchesPerSecond, fetchBurst = 1, 4
)

// errFetches is the error of a request to an issuer beyond its rate.
var errFetches = errors.New("too many requests to the issuer")

// Issuer verifies the tokens of an OpenID Connect issuer (OpenID Connect Core 1.0, section 3.1.3.7): signature, issuer, audience and
// time. It discovers the issuer's settings with the first token, so a server starts while an issuer is down.
type Issuer struct {
	IssuerSettings
	client     *http.Client
	reviewed   *reviewCache
	discovered atomic.Pointer[discovery]
	discovery  singleflight.Group // deduplicates concurrent discoveries, as for many tokens at the start
}

// IssuerSettings are an issuer of the access file.
type IssuerSettings struct {
	// Name is the issuer's name in principals.
	Name string `yaml:"name"`
	// URL is the iss claim of tokens.
	URL string `yaml:"url"`
	// Audiences lists the accepted aud claims. Tokens must have one of them.
	Audiences []string `yaml:"audiences"`
	// UsernameClaim and GroupsClaim are claims, by default sub and groups.
	UsernameClaim string `yaml:"usernameClaim"`
	GroupsClaim   string `yaml:"groupsClaim"`
	// CertificateAuthority is the PEM bundle that verifies the issuer's certificate, by default the system's.
	CertificateAuthority string `yaml:"certificateAuthority"`
}

// discovery is the discovery document of an issuer.
type discovery struct {
	algorithms []string
	keys       *oidc.RemoteKeySet
	until      time.Time
}

// newIssuer returns an issuer with the settings' defaults. certificateAuthority must be valid.
func newIssuer(s IssuerSettings) *Issuer {
	if s.UsernameClaim == "" {
		s.UsernameClaim = "sub"
	}
	if s.GroupsClaim == "" {
		s.GroupsClaim = "groups"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CertificateAuthority != "" {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(s.CertificateAuthority))
	}
	bounded := &boundedTransport{transport, rate.New(fetchesPerSecond, fetchBurst, time.Now)}
	return &Issuer{
		IssuerSettings: s, client: &http.Client{Transport: bounded, Timeout: reviewTimeout}, reviewed: newReviewCache(),
	}
}

// check reports the problems of settings.
func (s *IssuerSettings) check(at string, problem func(ok bool, format string, args ...any)) {
	problem(s.Name != "" && !strings.ContainsAny(s.Name, ":*"), "%s.name: is required, without : and *, is %q", at, s.Name)
	problem(strings.HasPrefix(s.URL, "https://"), "%s.url: must begin with https://, is %q", at, s.URL)
	problem(len(s.Audiences) > 0 && !slices.Contains(s.Audiences, ""), "%s.audiences: is required", at)
	problem(s.CertificateAuthority == "" || x509.NewCertPool().AppendCertsFromPEM([]byte(s.CertificateAuthority)),
		"%s.certificateAuthority: has no certificate", at)
}

// Review implements Reviewer: oidc-user:ISSUER:NAME first, then oidc-group:ISSUER:NAME of each group.
func (i *Issuer) Review(ctx context.Context, token string) ([]string, error) {
	return i.reviewed.of(token, func() ([]string, time.Time, error) { return i.verify(ctx, token) })
}

// Recall implements Reviewer.
func (i *Issuer) Recall(token string) []string { return i.reviewed.recall(token) }

func (i *Issuer) verify(ctx context.Context, token string) ([]string, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	d, err := i.discover(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	keys := &heldKeys{set: d.keys}
	config := &oidc.Config{SkipClientIDCheck: true, SupportedSigningAlgs: d.algorithms, Now: i.reviewed.now}
	verified, err := oidc.NewVerifier(i.URL, keys, config).Verify(ctx, token)
	switch {
	case keys.unreachable != nil:
		return nil, time.Time{}, keys.unreachable
	case err != nil:
		return nil, time.Time{}, nil
	}
	if !slices.ContainsFunc(verified.Audience, func(a string) bool { return slices.Contains(i.Audiences, a) }) {
		return nil, time.Time{}, nil
	}
	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return nil, time.Time{}, nil
	}
	return i.principals(claims), verified.Expiry, nil
}

// principals returns the principals of a verified token, nil if it does not name its holder. As in kube-apiserver, an unverified
// e-mail address is not a name.
func (i *Issuer) principals(claims map[string]any) []string {
	user, _ := claims[i.UsernameClaim].(string)
	if verified, ok := claims["email_verified"]; user == "" || i.UsernameClaim == "email" && ok && verified != true {
		return nil
	}
	out := []string{"oidc-user:" + i.Name + ":" + user}
	switch groups := claims[i.GroupsClaim].(type) {
	case string:
		out = append(out, "oidc-group:"+i.Name+":"+groups)
	case []any:
		for _, g := range groups {
			if name, ok := g.(string); ok {
				out = append(out, "oidc-group:"+i.Name+":"+name)
			}
		}
	}
	return out
}

// discover returns the issuer's discovery document. A known document is used until it is too old, and longer if the issuer is down.
func (i *Issuer) discover(ctx context.Context) (*discovery, error) {
	known := i.discovered.Load()
	if known != nil && i.reviewed.now().Before(known.until) {
		return known, nil
	}
	result := i.discovery.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), reviewTimeout) // other callers wait, too
		defer cancel()
		found, err := i.fetch(ctx)
		if err != nil {
			if known == nil {
				return nil, err
			}
			// Do not have each token wait for an issuer that is down.
			found = &discovery{known.algorithms, known.keys, i.reviewed.now().Add(discoverAgain)}
		}
		i.discovered.Store(found)
		return found, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case answer := <-result:
		found, _ := answer.Val.(*discovery)
		return found, answer.Err
	}
}

// fetch fetches the discovery document.
func (i *Issuer) fetch(ctx context.Context) (*discovery, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.URL)
	if err != nil {
		return nil, err
	}
	var says struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(says.Keys, "https://") {
		return nil, fmt.Errorf("the jwks_uri of %s does not begin with https://", i.URL)
	}
	algorithms := slices.DeleteFunc(says.Algorithms, func(a string) bool { return !slices.Contains(signatures, a) })
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), i.client), says.Keys)
	return &discovery{algorithms, keys, i.reviewed.now().Add(discoverEvery)}, nil
}

// signatures are the accepted signature algorithms: public keys only.
var signatures = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// heldKeys are the keys of an issuer while one token is verified. They distinguish a wrong signature from keys that cannot be
// fetched: the library reports both in a text.
type heldKeys struct {
	set         *oidc.RemoteKeySet
	unreachable error
}

// VerifySignature implements oidc.KeySet.
func (k *heldKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.set.VerifySignature(ctx, token)
	if errors.Unwrap(err) != nil { // the error of the fetch
		k.unreachable = err
	}
	return payload, err
}

// issuerOf returns the unverified issuer of a token, empty for tokens that are no JWTs.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxTokenBytes {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return ""
	}
	return claims.Issuer
}

// boundedTransport bounds the rate of requests and the size of answers.
type boundedTransport struct {
	http.RoundTripper
	limit *rate.Limit
}

// RoundTrip implements http.RoundTripper.
func (t *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.limit.Admit() > 0 {
		return nil, errFetches
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswerBytes), response.Body}
	}
	return response, err
}
