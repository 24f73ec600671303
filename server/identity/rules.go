package identity

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rules are an access file.
type Rules struct {
	tokens  map[string]string  // names by the hexadecimal SHA-256 of the token
	issuers map[string]*Issuer // by URL
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
}

// rule is what some callers may call. A caller has the first rule that names one of the caller's principals.
type rule struct {
	// Callers are principals, with * at the end for any rest: subject:CN=batch,O=stowage, uri:spiffe://..., token:NAME,
	// user:NAME and group:NAME of Kubernetes, oidc-user:ISSUER:NAME and oidc-group:ISSUER:NAME.
	Callers []string `yaml:"callers"`
	Tenant  string   `yaml:"tenant"`
	// Methods are names of RPCs, Reflection, or * for all.
	Methods []string `yaml:"methods"`
}

// kinds are what principals begin with.
var kinds = []string{"subject:", "uri:", "token:", "user:", "group:", "oidc-user:", "oidc-group:"}

// ParseRules parses an access file in YAML. methods are the names of RPCs that rules may have. The error has every problem.
func ParseRules(text []byte, methods []string) (*Rules, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("is empty")
		}
		return nil, err
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	r := &Rules{tokens: map[string]string{}, issuers: map[string]*Issuer{}, rules: f.Rules}
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
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// decide returns the tenant of a caller with these principals, whether a rule names the caller, and whether the first that does has
// the method.
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
