package identity

import (
	"strings"
	"testing"
)

func TestParseRules(t *testing.T) {
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for name, test := range map[string]struct{ text, problem string }{
		"sound":          {"rules: [{callers: ['token:x'], tenant: t, methods: [Filter, Reflection]}]\ntokens: [{name: x, sha256: " + sum + "}]", ""},
		"empty":          {"", "is empty"},
		"no rules":       {"tokens: []", "rules: is required"},
		"an unknown key": {"rules: []\nrulez: []", "field rulez not found"},
		"no callers":     {"rules: [{tenant: t, methods: ['*']}]", "rules[0].callers: is required"},
		"no tenant":      {"rules: [{callers: ['token:x'], methods: ['*']}]", "rules[0].tenant: is required"},
		"no methods":     {"rules: [{callers: ['token:x'], tenant: t}]", "rules[0].methods: is required"},
		"another kind":   {"rules: [{callers: ['x'], tenant: t, methods: ['*']}]", `rules[0].callers[0]: must begin with subject:, uri:, token:, user:, group:, oidc-user:, oidc-group:, is "x"`},
		"an issuer": {
			"issuers: [{name: c, url: https://x, audiences: [a]}]\nrules: [{callers: ['oidc-user:c:x', 'oidc-group:c:*'], tenant: t, methods: ['*']}]", "",
		},
		"an unknown issuer": {
			"rules: [{callers: ['oidc-user:c:x'], tenant: t, methods: ['*']}]", `rules[0].callers[0]: there is no issuer "c"`,
		},
		"any issuer": {
			"issuers: [{name: c, url: https://x, audiences: [a]}]\nrules: [{callers: ['oidc-user:*'], tenant: t, methods: ['*']}]",
			`rules[0].callers[0]: there is no issuer "*"`,
		},
		"an issuer in plain text": {"issuers: [{name: c, url: http://x, audiences: [a]}]", `issuers[0].url: must begin with https://, is "http://x"`},
		"an issuer for all":       {"issuers: [{name: c, url: https://x}]", "issuers[0].audiences: is required"},
		"an issuer with a colon":  {"issuers: [{name: 'c:', url: https://x, audiences: [a]}]", `issuers[0].name: is required, without : and *, is "c:"`},
		"an issuer's certificate": {
			"issuers: [{name: c, url: https://x, audiences: [a], certificateAuthority: x}]", "issuers[0].certificateAuthority: has no certificate",
		},
		"an issuer twice": {
			"issuers: [{name: c, url: https://x, audiences: [a]}, {name: c, url: https://x, audiences: [a]}]",
			"issuers[1].name: is there twice\nissuers[1].url: is there twice",
		},
		"only a kind":     {"rules: [{callers: ['user:'], tenant: t, methods: ['*']}]", "rules[0].callers[0]: must begin with"},
		"* in the middle": {"rules: [{callers: ['user:a*b'], tenant: t, methods: ['*']}]", "rules[0].callers[0]: has * before its end"},
		"another method":  {"rules: [{callers: ['user:a'], tenant: t, methods: [Delete]}]", `rules[0].methods[0]: there is no method "Delete"`},
		"a short hash":    {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{name: x, sha256: 00}]", "tokens[0].sha256: must be 64 hexadecimal digits"},
		"no name":         {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{sha256: " + sum + "}]", "tokens[0].name: is required"},
		"a token twice": {
			"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{name: x, sha256: " + sum + "}, {name: y, sha256: " +
				strings.ToUpper(sum) + "}]", "tokens[1].sha256: is there twice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRules([]byte(test.text), []string{"Filter"})
			switch {
			case test.problem == "" && err != nil:
				t.Error(err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("the error is %v, want %s", err, test.problem)
			}
		})
	}
}

// TestFirstRuleDecides expects that the first rule that names a caller decides, even where a later one allows more.
func TestFirstRuleDecides(t *testing.T) {
	r, err := ParseRules([]byte(`rules:
- {callers: ["user:system:serviceaccount:a:*"], tenant: a, methods: [Filter]}
- {callers: ["group:all", "user:x"], tenant: b, methods: ["*"]}
`), []string{"Filter", "Place"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		principals, method, tenant string
		known, may                 bool
	}{
		{"user:system:serviceaccount:a:x group:all", "Filter", "a", true, true},
		{"user:system:serviceaccount:a:x group:all", "Place", "a", true, false},
		{"user:system:serviceaccount:b:x group:all", "Place", "b", true, true},
		{"user:x", "Reflection", "b", true, true},
		{"user:xy", "Filter", "", false, false},
		{"user:system:serviceaccount:a", "Filter", "", false, false},
	} {
		tenant, known, may := r.decide(strings.Fields(test.principals), test.method)
		if tenant != test.tenant || known != test.known || may != test.may {
			t.Errorf("%s calls %s: %q %t %t", test.principals, test.method, tenant, known, may)
		}
	}
}
