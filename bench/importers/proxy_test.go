package importers

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

const repository = "github.com/stowage-scheduler/stowage"

// proxy is a module proxy in a directory, with modules of the working tree. Their version depends on their content, because the go
// command downloads a version only once.
type proxy struct{ dir, version string }

func newProxy(t *testing.T, folders ...string) proxy {
	t.Helper()
	digest := sha256.New()
	for _, folder := range folders {
		sum, err := dirhash.HashDir(filepath.Join("..", "..", folder), folder, dirhash.Hash1)
		must(t, err)
		_, _ = digest.Write([]byte(sum))
	}
	p := proxy{t.TempDir(), fmt.Sprintf("v0.0.0-20260101000000-%x", digest.Sum(nil)[:6])}
	for _, folder := range folders {
		p.publish(t, folder)
	}
	t.Cleanup(func() { p.forget(t, folders) })
	return p
}

// publish adds the module of a folder. It requires the other modules of the repository in the same version.
func (p proxy) publish(t *testing.T, folder string) {
	t.Helper()
	staged := t.TempDir()
	must(t, os.CopyFS(staged, os.DirFS(filepath.Join("..", "..", folder))))
	text, err := os.ReadFile(filepath.Join(staged, "go.mod"))
	must(t, err)
	file, err := modfile.Parse(folder, text, nil)
	must(t, err)
	for _, r := range file.Require {
		if strings.HasPrefix(r.Mod.Path, repository+"/") {
			must(t, file.AddRequire(r.Mod.Path, p.version))
		}
	}
	text, err = file.Format()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(staged, "go.mod"), text, 0o644))

	dir := filepath.Join(p.dir, repository, folder, "@v")
	must(t, os.MkdirAll(dir, 0o755))
	for name, content := range map[string]string{
		"list": p.version + "\n", p.version + ".info": fmt.Sprintf(`{"Version": %q}`, p.version), p.version + ".mod": string(text),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	out, err := os.Create(filepath.Join(dir, p.version+".zip"))
	must(t, err)
	must(t, zip.CreateFromDir(out, module.Version{Path: repository + "/" + folder, Version: p.version}, staged))
	must(t, out.Close())
}

// env makes the go command look for modules here before it does elsewhere.
func (p proxy) env(t *testing.T) []string {
	t.Helper()
	others := strings.TrimSpace(run(t, ".", nil, "env", "GOPROXY"))
	return []string{"GOPROXY=file://" + filepath.ToSlash(p.dir) + "," + others, "GONOSUMDB=" + repository}
}

// forget removes the modules from the go command's cache.
func (p proxy) forget(t *testing.T, folders []string) {
	t.Helper()
	cache := strings.TrimSpace(run(t, ".", nil, "env", "GOMODCACHE"))
	for _, folder := range folders {
		extracted := filepath.Join(cache, repository, folder+"@"+p.version)
		_ = filepath.WalkDir(extracted, func(path string, d fs.DirEntry, err error) error { // directories are read-only
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755)
			}
			return err
		})
		must(t, os.RemoveAll(extracted))
		downloaded, err := filepath.Glob(filepath.Join(cache, "cache", "download", repository, folder, "@v", p.version+".*"))
		must(t, err)
		for _, path := range downloaded {
			must(t, os.Remove(path))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
