package identity

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/rate"
)

// Rules are the parsed access file.
type Rules struct {
	tokens  map[string]string  // names by the hexadecimal SHA-256 of the token
	issuers map[string]*Issuer // by URL
	quotas  map[string]*quota  // by tenant
	rules   []rule
}

// file is the form of an access file.
type file struct {
	Tokens []struct {
		Name   string `yaml:"name"`
		SHA256 string `yaml:"sha256"`
	} `yaml:"tokens"`
	Issuers []IssuerSettings `yaml:"issuers"`
	Rules   []rule           `yaml:"rules"`
	Quotas  []quota          `yaml:"quotas"`
}

// rule lists callers and the methods that they may call. The first rule that names one of a caller's principals applies.
type rule struct {
	// Callers are principals, with * at the end for any rest: subject:CN=batch,O=stowage, uri:spiffe://..., token:NAME,
	// user:NAME and group:NAME of Kubernetes, oidc-user:ISSUER:NAME and oidc-group:ISSUER:NAME.
	Callers []string `yaml:"callers"`
	// Tenant owns the snapshots that the callers can see.
	Tenant string `yaml:"tenant"`
	// Methods are names of RPCs, Reflection, or * for all.
	Methods []string `yaml:"methods"`
}

// quota bounds what all callers of a tenant may use together.
type quota struct {
	Tenant string `yaml:"tenant"`
	// CallsPerSecond bounds the calls, 0 for no bound. Burst bounds calls at one time, by default the calls of a second.
	CallsPerSecond float64 `yaml:"callsPerSecond"`
	Burst          int     `yaml:"burst"`
	// MaxSnapshotBytes bounds the memory of the tenant's snapshots, 0 for no bound.
	MaxSnapshotBytes bytesWithUnit `yaml:"maxSnapshotBytes"`

	calls *rate.Limit // nil for no bound
}

// bytesWithUnit is a number of bytes that may have a unit, as in Kubernetes.
type bytesWithUnit int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *bytesWithUnit) UnmarshalText(text []byte) error {
	n, err := config.ParseBytes(string(text))
	*b = bytesWithUnit(n)
	return err
}

// kinds are the prefixes of principals.
var kinds = []string{"subject:", "uri:", "token:", "user:", "group:", "oidc-user:", "oidc-group:"}

// methods are the names of the RPCs.
var methods = func() (names []string) {
	for _, d := range []grpc.ServiceDesc{
		stowagev1.PlacementService_ServiceDesc, stowagev1.SimulationService_ServiceDesc,
	} {
		for i := range d.Methods {
			names = append(names, d.Methods[i].MethodName)
		}
		for i := range d.Streams {
			names = append(names, d.Streams[i].StreamName)
		}
	}
	return names
}()

// ParseRules parses an access file in YAML. The error lists every problem.
func ParseRules(text []byte) (*Rules, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty")
		}
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has several documents: one is allowed, the others would not apply")
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	r := &Rules{tokens: map[string]string{}, issuers: map[string]*Issuer{}, quotas: map[string]*quota{}, rules: f.Rules}
	for i, t := range f.Tokens {
		at := fmt.Sprintf("tokens[%d]", i)
		check(t.Name != "", "%s.name: is required", at)
		raw, err := hex.DecodeString(t.SHA256)
		check(err == nil && len(raw) == 32, "%s.sha256: must be 64 hexadecimal digits", at)
		sum := strings.ToLower(t.SHA256)
		_, twice := r.tokens[sum]
		check(!twice, "%s.sha256: is there twice", at)
		r.tokens[sum] = t.Name
	}
	names := map[string]bool{}
	for i, s := range f.Issuers {
		at := fmt.Sprintf("issuers[%d]", i)
		s.check(at, check)
		check(!names[s.Name], "%s.name: is there twice", at)
		check(r.issuers[s.URL] == nil, "%s.url: is there twice", at)
		names[s.Name], r.issuers[s.URL] = true, newIssuer(s)
	}
	check(len(f.Rules) > 0, "rules: is required")
	for i, x := range f.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		check(len(x.Callers) > 0, "%s.callers: is required", at)
		check(x.Tenant != "", "%s.tenant: is required", at)
		check(len(x.Methods) > 0, "%s.methods: is required", at)
		for j, c := range x.Callers {
			known := slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(c, k) && len(c) > len(k) })
			check(known, "%s.callers[%d]: must begin with %s, is %q", at, j, strings.Join(kinds, ", "), c)
			check(!strings.Contains(strings.TrimSuffix(c, "*"), "*"), "%s.callers[%d]: has * before its end", at, j)
			if kind, of, _ := strings.Cut(c, ":"); kind == "oidc-user" || kind == "oidc-group" {
				issuer, _, _ := strings.Cut(of, ":")
				check(names[issuer], "%s.callers[%d]: there is no issuer %q", at, j, issuer)
			}
		}
		for j, m := range x.Methods {
			check(m == "*" || m == "Reflection" || slices.Contains(methods, m), "%s.methods[%d]: there is no method %q", at, j, m)
		}
	}
	for i := range f.Quotas {
		q := &f.Quotas[i]
		at := fmt.Sprintf("quotas[%d]", i)
		check(slices.ContainsFunc(f.Rules, func(x rule) bool { return x.Tenant == q.Tenant }), "%s.tenant: no rule has tenant %q", at, q.Tenant)
		check(r.quotas[q.Tenant] == nil, "%s.tenant: is there twice", at)
		check(q.CallsPerSecond == 0 || q.CallsPerSecond >= 0.001 && q.CallsPerSecond <= 1e9,
			"%s.callsPerSecond: must be 0, or 0.001 to 1e9, is %v", at, q.CallsPerSecond)
		check(q.Burst == 0 || q.Burst >= 1 && q.Burst <= 1e6 && q.CallsPerSecond > 0,
			"%s.burst: must be 1 to 1000000, and needs callsPerSecond, is %d", at, q.Burst)
		r.quotas[q.Tenant] = q
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, q := range r.quotas {
		if q.CallsPerSecond > 0 {
			q.calls = rate.New(q.CallsPerSecond, cmp.Or(q.Burst, int(min(math.Ceil(q.CallsPerSecond), 1e6))), time.Now)
		}
	}
	return r, nil
}

// decide returns the tenant of a caller with these principals, whether a rule names the caller, and whether the first such rule
// allows the method.
func (r *Rules) decide(principals []string, method string) (tenant string, known, may bool) {
	for i := range r.rules {
		x := &r.rules[i]
		if slices.ContainsFunc(x.Callers, func(c string) bool { return matches(c, principals) }) {
			return x.Tenant, true, slices.Contains(x.Methods, "*") || slices.Contains(x.Methods, method)
		}
	}
	return "", false, false
}

func matches(pattern string, principals []string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return slices.ContainsFunc(principals, func(p string) bool {
		return p == pattern || open && strings.HasPrefix(p, prefix)
	})
}
