package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCommandStartsNoProcess lists the packages of the command that could start a process: packages of credential plugins and of kustomize, whose
// plugins are off, the client of an agent's protocol, of which stowage is a server, and completion, which starts none of what stowage completes. None is our own.
func TestCommandStartsNoProcess(t *testing.T) {
	const format = `{{$p := .ImportPath}}{{if not .Standard}}{{range .Imports}}{{if or (eq . "os/exec") (eq . "syscall/exec")}}{{$p}} {{end}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "../cmd/stowage").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	want := []string{
		"github.com/carapace-sh/carapace",
		"github.com/carapace-sh/carapace/internal/shell",
		"github.com/carapace-sh/carapace/third_party/golang.org/x/sys/execabs",
		"github.com/google/gnostic-models/compiler",
		"github.com/modelcontextprotocol/go-sdk/mcp",
		"k8s.io/client-go/plugin/pkg/client/auth/exec",
		"sigs.k8s.io/kustomize/api/internal/builtins",
		"sigs.k8s.io/kustomize/api/internal/git",
		"sigs.k8s.io/kustomize/api/internal/plugins/execplugin",
		"sigs.k8s.io/kustomize/kyaml/fn/runtime/exec",
	}
	if !slices.Equal(got, want) {
		t.Errorf("packages that import os/exec are %v, want %v", got, want)
	}
}

// TestKustomizationStartsNoProcess reads kustomizations that name a program and a Helm chart: they are refused, and nothing is started.
func TestKustomizationStartsNoProcess(t *testing.T) {
	for name, kustomization := range map[string]string{
		"function": "generators: [g.yaml]\n",
		"plugin":   "transformers: [g.yaml]\n",
		"chart":    "helmGlobals: {chartHome: .}\nhelmCharts: [{name: c, version: v1}]\n",
	} {
		dir := t.TempDir()
		started, program := filepath.Join(dir, "started"), filepath.Join(dir, "helm")
		for path, text := range map[string]string{
			program: "#!/bin/sh\ntouch " + started + "\n",
			filepath.Join(dir, "g.yaml"): "apiVersion: x/v1\nkind: X\nmetadata:\n  name: x\n  annotations:\n" +
				"    config.kubernetes.io/function: |\n      exec: {path: ./helm}\n",
			filepath.Join(dir, "kustomization.yaml"): kustomization,
		} {
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		code, _, stderr := stowage(t, "place", "-k", dir)
		if code != 2 {
			t.Errorf("%s: exit status %d: %s", name, code, stderr)
		}
		if _, err := os.Stat(started); err == nil {
			t.Errorf("%s: a program was started", name)
		}
	}
}
