package importers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostAdded is how many modules an import may add to a module that uses Kubernetes and gRPC.
const mostAdded = 12

// kubernetes lists the first release of each supported minor version of Kubernetes, with the version of gRPC that k8s.io/apiserver requires.
var kubernetes = []struct{ version, grpc string }{
	{"v0.34.0", "v1.72.1"}, {"v0.35.0", "v1.72.2"}, {"v0.36.0", "v1.79.3"}, {"v0.37.0", "v1.82.1"},
}

// TestImports expects that an import changes no version of the importing module, adds few modules, and compiles there. IMPORTERS has the
// releases of Kubernetes with which it is compiled.
func TestImports(t *testing.T) {
	compiled := strings.Fields(os.Getenv("IMPORTERS"))
	if len(compiled) == 0 {
		t.Skip("downloads several releases of Kubernetes; make importers sets IMPORTERS")
	}
	published := newProxy(t, "proto", "engine", "clients/stowage", "clients/kube", "clients/simulate")
	for _, k := range kubernetes {
		before := filepath.Join(t.TempDir(), "importer")
		must(t, os.Mkdir(before, 0o755))
		module := fmt.Sprintf("module example.com/importer\n\ngo 1.26.0\n\nrequire (\n\tgoogle.golang.org/grpc %s\n\tk8s.io/api %s\n"+
			"\tk8s.io/apimachinery %[2]s\n\tk8s.io/client-go %[2]s\n)\n", k.grpc, k.version)
		must(t, os.WriteFile(filepath.Join(before, "go.mod"), []byte(module), 0o644))
		must(t, os.WriteFile(filepath.Join(before, "main.go"), []byte(`package main

import (
	_ "google.golang.org/grpc"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/client-go/rest"
)

func main() {}
`), 0o644))
		run(t, before, nil, "mod", "tidy")
		had := versions(t, before, nil)
		for _, source := range []string{
			`import stowagev1 "` + repository + `/proto/stowage/v1"

var _ = stowagev1.NewPlacementServiceClient`,
			`import "` + repository + `/clients/stowage"

var _ = stowage.Dial`,
			`import "` + repository + `/clients/simulate"

var _ = simulate.New`,
		} {
			imported, _, _ := strings.Cut(source[strings.Index(source, repository)+len(repository)+1:], `"`)
			t.Run(k.version+"/"+imported, func(t *testing.T) {
				dir := t.TempDir()
				must(t, os.CopyFS(dir, os.DirFS(before)))
				must(t, os.WriteFile(filepath.Join(dir, "imports.go"), []byte("package main\n\n"+source+"\n"), 0o644))
				env := published.env(t)
				run(t, dir, env, "get", repository+"/"+imported+"@"+published.version)
				run(t, dir, env, "mod", "tidy")
				compare(t, had, versions(t, dir, env))
				if slices.Contains(compiled, k.version) {
					run(t, dir, env, "build", "-o", os.DevNull, ".")
				}
			})
		}
	}
}

// compare reports modules that changed, and too many that were added.
func compare(t *testing.T, before, after map[string]string) {
	t.Helper()
	var added []string
	for _, path := range slices.Sorted(maps.Keys(after)) {
		switch was, there := before[path]; {
		case !there:
			added = append(added, path+" "+after[path])
		case was != after[path]:
			t.Errorf("%s %s becomes %s", path, was, after[path])
		}
	}
	if len(added) > mostAdded {
		t.Errorf("%d modules are added, at most %d may be:\n%s", len(added), mostAdded, strings.Join(added, "\n"))
	}
	t.Logf("%d modules are added: %s", len(added), strings.Join(added, ", "))
}

// versions returns the version of each module in the build list of the module in a directory.
func versions(t *testing.T, dir string, env []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(run(t, dir, env, "list", "-m", "-f", "{{if not .Main}}{{.Path}} {{.Version}}{{end}}", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != "" {
			out[path] = version
		}
	}
	return out
}

// run runs the go command in a directory, outside of the workspace.
func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
