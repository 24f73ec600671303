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

// TestObjectsAreBounded reads as many objects as are allowed, and one more; and the largest object, and one that is larger.
func TestObjectsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 600,000 objects")
	}
	const most = 8 << 20
	object := func(size int) string {
		head, tail := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","annotations":{"a":"`, `"}}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	many := func(n int) string {
		return `{"apiVersion":"v1","kind":"List","items":[` + strings.Repeat(`{"apiVersion":"v1","kind":"X"},`, n-1) + `{"apiVersion":"v1","kind":"X"}]}`
	}
	for _, test := range []struct{ name, text, want string }{
		{"objects", many(manifest.MaximumObjects), ""},
		{"one object more", many(manifest.MaximumObjects + 1), "more than 300000 objects"},
		{"the largest object", object(most), ""},
		{"a larger object", object(most + 1), "an object of more than 8388608 bytes"},
	} {
		err := manifest.NewReader(kube.Options{}).Read("f", strings.NewReader(test.text))
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %.200v", test.name, err)
		}
	}
}
