package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestVersionsAreShared compares the versions of the modules that both the control plane and bench/parity are built from.
// Where one differs, Go compiles it and all packages above it twice.
func TestVersionsAreShared(t *testing.T) {
	parity, tools := required(t, "parity"), required(t, filepath.Join("e2e", "tools"))
	shared := 0
	for module, want := range parity {
		got, ok := tools[module]
		if !ok {
			continue
		}
		shared++
		if got != want {
			t.Errorf("%s is %s in bench/e2e/tools and %s in bench/parity: go -C bench/e2e/tools get %s@%s", module, got, want,
				module, want)
		}
	}
	if shared < 50 {
		t.Errorf("only %d modules are shared", shared)
	}
}

// required is the version of each module that a go.mod in bench requires, after its replacements.
func required(t *testing.T, directory string) map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", directory, "go.mod")) // here, so that the test's result is not kept when it changes
	must(t, err)
	defer func() { _ = file.Close() }()
	edit := exec.Command("go", "mod", "edit", "-json", "/dev/stdin")
	edit.Stdin = file
	text, err := edit.Output()
	must(t, err)
	var stated struct {
		Require []struct{ Path, Version string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	must(t, json.Unmarshal(text, &stated))
	versions := map[string]string{}
	for _, r := range stated.Require {
		versions[r.Path] = r.Version
	}
	for _, r := range stated.Replace {
		if _, ok := versions[r.Old.Path]; ok {
			versions[r.Old.Path] = r.New.Version
		}
	}
	return versions
}
