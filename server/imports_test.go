package server

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports proves that the server depends on the engine and the contract, on no Kubernetes module and no client.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/stowage-scheduler/stowage/"
	seen := make(map[string]bool)
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.Contains(dep, "k8s.io/") {
			t.Errorf("the server depends on %s", dep)
		}
		if own, ok := strings.CutPrefix(dep, module); ok {
			room, _, _ := strings.Cut(own, "/")
			seen[room] = true
		}
	}
	for room := range seen {
		if room != "server" && room != "engine" && room != "proto" {
			t.Errorf("the server depends on %s", module+room)
		}
	}
	if !seen["engine"] || !seen["proto"] {
		t.Errorf("of the module, go list found only %v", seen)
	}
}
