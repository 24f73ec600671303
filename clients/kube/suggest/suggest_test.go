package suggest_test

import (
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"wbe", []string{"db", "web"}, "web"},                                            // two letters swapped
		{"redis", []string{"redash", "postgres"}, ""},                                    // another word
		{"node-eu-1b", []string{"node-eu-1a", "node-eu-1c", "node-us-1b"}, "node-eu-1a"}, // the first of equals
		{"web", []string{"wed", "web"}, ""},                                              // known
		{"a", []string{"b", "bb", "ab"}, ""},                                             // too short
		{"", []string{"a", "aa"}, ""},
		{"ab", []string{"xx", "b"}, "b"},
		{"kube-system/deploy/coredns", []string{"kube-system/deployment/core-dns", "kube-system/daemonset/kube-proxy"}, "kube-system/deployment/core-dns"},
		{"web-7d4b9-abcde", []string{"web-7d4b9-abdce", "web-7d4b9-xyzab"}, "web-7d4b9-abdce"},
		{"x", nil, ""},
	} {
		if got := suggest.Nearest(c.name, slices.Values(c.known)); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
	if got, want := suggest.DidYouMean("wbe", slices.Values([]string{"web"})), `; did you mean "web"?`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := suggest.DidYouMean("cache", slices.Values([]string{"web"})); got != "" {
		t.Errorf("%q", got)
	}
}
