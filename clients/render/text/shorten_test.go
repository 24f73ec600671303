package text

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCutNamesKeepWhatDiffers(t *testing.T) {
	gke := []string{"gke-production-default-pool-7f3a9c1e-x2x1", "gke-production-default-pool-7f3a9c1e-b7qz"}
	aws := []string{"ip-10-0-12-7.eu-west-1.compute.internal", "ip-10-0-131-25.eu-west-1.compute.internal"}
	for _, c := range []struct {
		all   []string
		name  string
		width int
		want  string
	}{
		{gke, gke[0], 60, gke[0]},
		{gke, gke[0], 22, "gke-production-de…x2x1"},
		{gke, gke[1], 10, "gke-p…b7qz"},
		{gke, gke[1], 5, "…b7qz"},
		{gke, gke[1], 4, "g…qz"},
		{aws, aws[0], 18, "ip-10-0-12-7…ernal"},
		{aws, aws[1], 18, "ip-10-0-131-25…nal"},
		{aws, aws[1], 10, "ip-…31-25…"},
		{gke[:1], gke[0], 10, "gke…e-x2x1"},
		{[]string{"a", "a-node-with-a-long-name"}, "a-node-with-a-long-name", 12, "a-n…ong-name"},
	} {
		if got := namesOf(c.all).cut(c.name, c.width); got != c.want {
			t.Errorf("%d of %s: got %s, want %s", c.width, c.name, got, c.want)
		}
	}
}

func TestCutNamesHaveTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix, suffix := rapid.StringMatching(`[a-zé-]{0,30}`).Draw(t, "prefix"), rapid.StringMatching(`[a-z.]{0,30}`).Draw(t, "suffix")
		var all []string
		for range rapid.IntRange(1, 4).Draw(t, "names") {
			all = append(all, prefix+rapid.StringMatching(`[a-z0-9]{0,20}`).Draw(t, "name")+suffix)
		}
		width := rapid.IntRange(4, 60).Draw(t, "width")
		for _, name := range all {
			got := namesOf(all).cut(name, width)
			if n := utf8.RuneCountInString(got); n > width || n < min(width, utf8.RuneCountInString(name)) {
				t.Fatalf("%d runes of %d: %q of %q", n, width, got, name)
			}
		}
	})
}
