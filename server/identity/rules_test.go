package identity

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/server/caller"
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
		"a quota": {
			"rules: [{callers: ['user:x'], tenant: t, methods: ['*']}]\nquotas: [{tenant: t, callsPerSecond: 0.5, burst: 2, maxSnapshotBytes: 64Mi}]", "",
		},
		"a quota in bytes": {
			"rules: [{callers: ['user:x'], tenant: t, methods: ['*']}]\nquotas: [{tenant: t, maxSnapshotBytes: 67108864}]", "",
		},
		"a quota of another unit": {
			"quotas: [{tenant: t, maxSnapshotBytes: 64Nodes}]", `"64Nodes" is not a number of bytes such as 134217728 or 128Mi`,
		},
		"a quota of no tenant":    {"quotas: [{tenant: u, callsPerSecond: 1}]", `quotas[0].tenant: no rule has tenant "u"`},
		"a negative quota":        {"quotas: [{tenant: t, callsPerSecond: -1}]", "quotas[0].callsPerSecond: must be 0, or 0.001 to 1e9, is -1"},
		"a burst without a quota": {"quotas: [{tenant: t, burst: 5}]", "quotas[0].burst: must be 1 to 1000000, and needs callsPerSecond, is 5"},
		"a quota twice": {
			"rules: [{callers: ['user:x'], tenant: t, methods: ['*']}]\nquotas: [{tenant: t}, {tenant: t}]", "quotas[1].tenant: is there twice",
		},
		"several documents": {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\n---\nquotas: []", "has several documents"},
		"broken after it":   {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\n---\n}", "has several documents"},
		"a separator":       {"---\nrules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\n...\n# end\n", ""},
		"only a kind":       {"rules: [{callers: ['user:'], tenant: t, methods: ['*']}]", "rules[0].callers[0]: must begin with"},
		"* in the middle":   {"rules: [{callers: ['user:a*b'], tenant: t, methods: ['*']}]", "rules[0].callers[0]: has * before its end"},
		"another method":    {"rules: [{callers: ['user:a'], tenant: t, methods: [Delete]}]", `rules[0].methods[0]: there is no method "Delete"`},
		"a short hash":      {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{name: x, sha256: 00}]", "tokens[0].sha256: must be 64 hexadecimal digits"},
		"no name":           {"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{sha256: " + sum + "}]", "tokens[0].name: is required"},
		"a token twice": {
			"rules: [{callers: ['user:a'], tenant: t, methods: ['*']}]\ntokens: [{name: x, sha256: " + sum + "}, {name: y, sha256: " +
				strings.ToUpper(sum) + "}]", "tokens[1].sha256: is there twice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRules([]byte(test.text))
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
`))
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

// TestQuotas expects that the calls of a tenant beyond its quota are refused, whoever of its callers makes them, and no calls of others.
func TestQuotas(t *testing.T) {
	r, err := ParseRules([]byte(`
rules:
- {callers: ["user:a", "user:b"], tenant: t, methods: [Filter]}
- {callers: ["user:*"], tenant: u, methods: ["*"]}
quotas: [{tenant: t, callsPerSecond: 0.01, burst: 3, maxSnapshotBytes: 1Ki}]
`))
	if err != nil {
		t.Fatal(err)
	}
	a := New(r, named{})
	call := func(token, method string) (*caller.Caller, error) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer "+token))
		ctx, err := a.Admit(ctx, "/stowage.v1.PlacementService/"+method)
		if err != nil {
			return nil, err
		}
		return caller.From(ctx), nil
	}
	if _, err := call("a", "Place"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a forbidden call: %v", err)
	}
	for i, token := range []string{"a", "b", "a"} {
		if c, err := call(token, "Filter"); err != nil || c.MaxSnapshotBytes != 1024 {
			t.Errorf("call %d: %+v, %v", i, c, err)
		}
	}
	_, err = call("b", "Filter")
	s := status.Convert(err)
	if s.Code() != codes.ResourceExhausted || s.Message() != "the quota of calls of tenant t is used up" {
		t.Fatalf("a call beyond the quota: %v", err)
	}
	info, retry := s.Details()[0].(*errdetails.ErrorInfo), s.Details()[1].(*errdetails.RetryInfo)
	if wait := retry.GetRetryDelay().AsDuration(); info.GetReason() != "RATE_LIMITED" || wait < 99*time.Second || wait > 100*time.Second ||
		info.GetMetadata()["tenant"] != "t" || info.GetMetadata()["limit"] != "calls_per_second" || info.GetMetadata()["limitValue"] != "0.01" {
		t.Errorf("the error is %v, %v", info, retry)
	}
	for range 10 {
		if c, err := call("c", "Filter"); err != nil || c.MaxSnapshotBytes != 0 {
			t.Errorf("another tenant: %+v, %v", c, err)
		}
	}
}

// named takes every token for one of the user of its name.
type named struct{}

func (named) Recall(token string) []string { return []string{"user:" + token} }

func (named) Review(_ context.Context, token string) ([]string, error) {
	return []string{"user:" + token}, nil
}
