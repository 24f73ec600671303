package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// TestLongListsAreReadInGroups reads lists that are longer than an object may be, with their items where programs put them.
func TestLongListsAreReadInGroups(t *testing.T) {
	note := strings.Repeat("x", 1<<20)
	for _, indent := range []string{"", " ", "  ", "    "} {
		var list strings.Builder
		list.WriteString("apiVersion: v1\nkind: NodeList\nitems:\n")
		for i := range 10 {
			fmt.Fprintf(&list, "%s- metadata:\n%[1]s    name: n%d\n\n%[1]s    annotations:\n%[1]s      note: |\n%[1]s        - %[3]s\n", indent, i, note)
		}
		list.WriteString("metadata: {}\n")
		r := manifest.NewReader(kube.Options{})
		if err := r.Read("list", strings.NewReader(list.String())); err != nil {
			t.Fatalf("indented by %q: %.200v", indent, err)
		}
		s, err := r.Snapshot()
		if err != nil || len(s.Cluster.Nodes) != 10 {
			t.Errorf("indented by %q: %v", indent, err)
		}
	}
	if err := manifest.NewReader(kube.Options{}).Read("map", strings.NewReader("a: "+strings.Repeat(note, 10))); err == nil ||
		err.Error() != "map: document 1: an object of more than 8388608 bytes" {
		t.Error(err)
	}
}
