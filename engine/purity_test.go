package engine_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPurity proves that the engine imports nothing but the standard library, golang.org/x and itself, and of the
// standard library nothing that would bring in a clock, randomness, IO or logging on its own account.
func TestPurity(t *testing.T) {
	const module = "github.com/stowage-scheduler/stowage/"
	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		return strings.Fields(string(out))
	}
	deps := list("-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")
	if len(deps) < 10 {
		t.Fatalf("go list found only %d packages of the engine", len(deps))
	}
	for _, dep := range deps {
		if !strings.HasPrefix(dep, module+"engine") && !strings.HasPrefix(dep, "golang.org/x/") {
			t.Errorf("the engine depends on %s", dep)
		}
	}
	impure := map[string]bool{
		"time": true, "math/rand": true, "math/rand/v2": true, "crypto/rand": true, "os": true, "net": true, "io": true,
		"log": true, "log/slog": true, "unsafe": true, "sync": true,
	}
	for _, pair := range list("-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}}:{{.}}{{"\n"}}{{end}}`, "./...") {
		importer, imported, _ := strings.Cut(pair, ":")
		if impure[imported] && !strings.HasSuffix(importer, "/enginetest") {
			t.Errorf("%s imports %s", importer, imported)
		}
	}
}
