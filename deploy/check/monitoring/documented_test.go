package monitoring

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented is a row of docs/metrics.md: a metric, and its labels in parentheses.
var documented = regexp.MustCompile("(?m)^\\| `([a-z_]+)`(?: \\(([^)]*)\\))? \\|")

// TestMetricsAreDocumented expects that docs/metrics.md has the metrics that there are, with their labels, and no others.
func TestMetricsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range documented.FindAllStringSubmatch(string(doc), -1) {
		got[row[1]] = strings.ReplaceAll(row[2], "`", "")
	}
	want := map[string]string{}
	for series, labels := range metrics(t) {
		name := series
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") ||
			name == "target_info" {
			continue
		}
		of := slices.Sorted(maps.Keys(labels))
		of = slices.DeleteFunc(of, func(l string) bool { return l == "le" })
		want[name] = strings.Join(of, ", ")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-is +documented:\n%s", d)
	}
}
