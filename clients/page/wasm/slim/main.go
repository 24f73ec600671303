// Command slim writes a workspace, go.work, in which the WebAssembly program is small.
//
// Go's linker removes methods that nothing calls, unless the program looks methods up by names that it computes: then all exported methods of
// all types stay, most of them of the types of Kubernetes. Kong, which reads the command line, is the only package that does
// so, for a handful of names. The workspace has a copy of it with the names written out, a copy of strategicpatch
// without the half that reads OpenAPI documents, which stowage does not call, and a copy of component-base without metrics, which bring
// an HTTP server to the evaluator of expressions. Each text to replace has to be found, so that a newer version of a library cannot pass
// without it.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit replaces texts of a file of a module.
type edit struct {
	module, file string
	replace      []string // what, by what
	from         string   // removes the file from here on, if not empty
}

const methods = `
func methodByName(v reflect.Value, name string) reflect.Value {
	switch name {
	case "Run":
		return v.MethodByName("Run")
	case "BeforeReset":
		return v.MethodByName("BeforeReset")
	case "BeforeResolve":
		return v.MethodByName("BeforeResolve")
	case "BeforeApply":
		return v.MethodByName("BeforeApply")
	case "AfterApply":
		return v.MethodByName("AfterApply")
	case "AfterRun":
		return v.MethodByName("AfterRun")
	}
	panic("kong looks up the method " + name)
}

func typeMethodByName(t reflect.Type, name string) (reflect.Method, bool) {
	switch name {
	case "BeforeReset":
		return t.MethodByName("BeforeReset")
	case "BeforeResolve":
		return t.MethodByName("BeforeResolve")
	case "BeforeApply":
		return t.MethodByName("BeforeApply")
	case "AfterApply":
		return t.MethodByName("AfterApply")
	case "AfterRun":
		return t.MethodByName("AfterRun")
	}
	panic("kong looks up the method " + name)
}
`

var edits = []edit{
	{module: "github.com/alecthomas/kong", file: "callbacks.go", replace: []string{
		"value.MethodByName(name)", "methodByName(value, name)",
		"value.Addr().MethodByName(name)", "methodByName(value.Addr(), name)",
		"t.MethodByName(name)", "typeMethodByName(t, name)",
		"\nfunc getMethod(", methods + "\nfunc getMethod(",
	}},
	{module: "github.com/alecthomas/kong", file: "context.go", replace: []string{
		"for i := 0; i < p.NumMethod(); i++ {", "for i := 0; i < 0; i++ { // stowage has no providers",
		"methodt := t.Method(i)", `methodt := reflect.Method{Name: t.Name()}`,
		"method := p.Method(i)", "method := p",
	}},
	{module: "k8s.io/apimachinery", file: "pkg/util/strategicpatch/meta.go", from: "type PatchMetaFromOpenAPIV3 struct", replace: []string{
		"\topenapi \"k8s.io/kube-openapi/pkg/util/proto\"\n", "", "\t\"k8s.io/kube-openapi/pkg/validation/spec\"\n", "", "\t\"strings\"\n", "",
	}},
	{module: "k8s.io/apimachinery", file: "pkg/util/strategicpatch/types.go", from: "import ("},
	{module: "k8s.io/component-base", file: "compatibility/registry.go", replace: []string{
		"\t\"k8s.io/component-base/metrics/prometheus/compatversion\"\n", "", "\t\"context\"\n", "",
		"compatversion.RecordCompatVersionInfo(context.Background(), name, effectiveVersion.BinaryVersion().String(), " +
			"effectiveVersion.EmulationVersion().String(), effectiveVersion.MinCompatibilityVersion().String())", "_ = name",
	}},
	{module: "k8s.io/component-base", file: "featuregate/feature_gate.go", replace: []string{
		"\tfeaturemetrics \"k8s.io/component-base/metrics/prometheus/feature\"\n", "", "\t\"context\"\n", "",
		"featuremetrics.RecordFeatureInfo(context.Background(), string(feature), string(featureSpec.PreRelease), f.Enabled(feature))", "_, _ = feature, featureSpec",
	}},
}

// encoded is the module with the types of Kubernetes. The copy has no generated code that encodes them in Protocol Buffers, a fifth of the
// program: manifests are JSON and YAML.
const (
	encoded  = "k8s.io/api"
	encoding = "generated.pb.go"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "slim:", err)
		os.Exit(1)
	}
}

// run writes the workspace to a directory that does not exist.
func run(directory string) error {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	copied := map[string]string{}
	if copied[encoded], err = copyModule(encoded, directory); err != nil {
		return err
	}
	if err := removeAll(copied[encoded], encoding); err != nil {
		return err
	}
	for _, e := range edits {
		if copied[e.module] == "" {
			if copied[e.module], err = copyModule(e.module, directory); err != nil {
				return err
			}
		}
		if err := e.apply(filepath.Join(copied[e.module], e.file)); err != nil {
			return err
		}
	}
	return workspace(directory, copied)
}

// copyModule copies a module of the build to a folder of the directory.
func copyModule(module, directory string) (string, error) {
	from, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", module, err)
	}
	to := filepath.Join(directory, filepath.Base(module))
	return to, os.CopyFS(to, os.DirFS(strings.TrimSpace(string(from))))
}

// removeAll removes the files of a name.
func removeAll(directory, name string) error {
	removed := 0
	err := filepath.WalkDir(directory, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.Name() != name {
			return err
		}
		removed++
		return os.Remove(path)
	})
	if err == nil && removed == 0 {
		err = fmt.Errorf("%s: has no %s", directory, name)
	}
	return err
}

// workspace writes go.work of this directory with the copies instead of the modules.
func workspace(directory string, copied map[string]string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	text, err := os.ReadFile("go.work")
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte("\t./"), []byte("\t"+root+"/"))
	text = bytes.ReplaceAll(text, []byte("\t.\n"), []byte("\t"+root+"\n"))
	for module, to := range copied {
		text = fmt.Appendf(text, "\nreplace %s => %s\n", module, to)
	}
	sums, err := os.ReadFile("go.work.sum")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(directory, "go.work.sum"), sums, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "go.work"), text, 0o600)
}

// apply edits a file of a copy, which is read-only as modules are.
func (e *edit) apply(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(b)
	if e.from != "" {
		before, _, found := strings.Cut(text, e.from)
		if !found {
			return fmt.Errorf("%s: has no %q", path, e.from)
		}
		text = before
	}
	for i := 0; i < len(e.replace); i += 2 {
		if !strings.Contains(text, e.replace[i]) {
			return fmt.Errorf("%s: has no %q", path, e.replace[i])
		}
		text = strings.ReplaceAll(text, e.replace[i], e.replace[i+1])
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
