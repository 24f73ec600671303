package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// TestTheBoundIsForWhatIsHandedOver has a call read files of this machine that have more text than a caller may hand over.
func TestTheBoundIsForWhatIsHandedOver(t *testing.T) {
	const most = 256
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	a, err := NewAnswerer(client)
	if err != nil {
		t.Fatal(err)
	}
	node := func(name string) string {
		return "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n"
	}
	directory := t.TempDir()
	for name, text := range map[string]string{
		"cluster.yaml": node("a") + node("b") + node("c"), "kustomization.yaml": "resources: [more.yaml]\n", "more.yaml": node("d") + node("e") + node("f"),
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.before = &inputs{File: []string{filepath.Join(directory, "cluster.yaml")}, Kustomize: []string{directory}}
	for _, c := range []struct{ text, want string }{
		{"", ""}, {node("g"), ""}, {node(strings.Repeat("g", most)), "more than 256 bytes"},
	} {
		call := &verbs.Call{Verb: "place", Values: map[string][]string{}, Files: map[string][]verbs.Content{}, MaximumBytes: most}
		if c.text != "" {
			call.Files["file"] = []verbs.Content{{Name: "given", Reader: strings.NewReader(c.text)}}
		}
		_, err := a.Answer(t.Context(), call, io.Discard, io.Discard)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes: %v, want %q", len(c.text), err, c.want)
		}
	}
}
