package chart

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

const chartDir = "../../chart/stowage"

func load(t testing.TB) *helmchart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// templates renders a chart as `helm template RELEASE CHART --namespace NAMESPACE --values VALUES` does: its files by name.
func templates(c *helmchart.Chart, release, namespace string, values map[string]any) (map[string]string, error) {
	o := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := commonutil.ToRenderValues(c, values, o, common.DefaultCapabilities.Copy())
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.RenderWithContext(context.Background(), c, all)
}

// objects renders the chart, and reads the objects as the API server does.
func objects(t testing.TB, release, namespace string, values map[string]any) []deploytest.Object {
	t.Helper()
	files, err := templates(load(t), release, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	var out []deploytest.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		read, err := deploytest.Read([]byte(files[name]))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, files[name])
		}
		out = append(out, read...)
	}
	return out
}

// valuesFiles are the rendered values: none, and the files of the chart's directory ci.
func valuesFiles(t testing.TB) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{"defaults": {}}
	paths, err := fs.Glob(os.DirFS(chartDir), "ci/*.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d files of values: %v", len(paths), err)
	}
	for _, path := range paths {
		out[strings.TrimSuffix(filepath.Base(path), ".yaml")] = parsed(t, string(read(t, filepath.Join(chartDir, path))))
	}
	return out
}

func parsed(t testing.TB, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
