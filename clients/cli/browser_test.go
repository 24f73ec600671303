package cli_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// requireBrowser is set where the test must not be skipped.
const requireBrowser = "REQUIRE_BROWSER"

// fonts are two that differ: a wide one, and one whose letters have equal width. Debian has them in fonts-dejavu-core and
// fonts-liberation.
var fonts = []string{"DejaVu Sans", "Liberation Mono"}

//go:embed testdata/browser.js
var layoutScript string

// drawn are commands whose answers are drawn, in directories of the examples or, with files, in one of their own.
var drawnCommands = []struct {
	name, dir string
	files     map[string]string
	args      string
}{
	{name: "pending", dir: "05-node-goes-down", args: "explain -f nodes.yaml -f required-running.yaml -f required-pending.yaml"},
	{name: "drain", dir: "36-victims-with-another-node", args: "drain gpu --moves -f nodes.yaml -f agent.yaml -f web.yaml"},
	{name: "largest set", dir: "39-a-shop-in-two-zones", args: "drain --all --largest-set -f nodes.yaml -f running.yaml"},
	{name: "zone", dir: "39-a-shop-in-two-zones", args: "fail --zone b -f nodes.yaml -f running.yaml"},
	{name: "each zone", dir: "39-a-shop-in-two-zones", args: "fail --each topology.kubernetes.io/zone -f nodes.yaml -f running.yaml"},
	{name: "audit", dir: "39-a-shop-in-two-zones", args: "audit -f nodes.yaml -f running.yaml"},
	{name: "consolidate", dir: "39-a-shop-in-two-zones", args: "consolidate --moves -f nodes.yaml -f running.yaml"},
	{name: "fit", dir: "15-spread-skew", args: "fit --by topology.kubernetes.io/zone --changes -f nodes.yaml -f running.yaml -f hard.yaml"},
	{name: "place", dir: "01-required-zone-anti-affinity", args: "place -f nodes.yaml -f redash.yaml"},
	{name: "what if", dir: "39-a-shop-in-two-zones", args: "what-if --without-node a2 -f nodes.yaml -f running.yaml"},
	{name: "long names", files: map[string]string{"cluster.json": longNames(12)}, args: "place -f cluster.json"},
	{name: "many nodes", files: map[string]string{"cluster.json": longNames(90)}, args: "drain --all -f cluster.json"},
}

// longNames is a cluster of nodes with GPUs and long names, with a pod on each and pending ones, as JSON.
func longNames(nodes int) string {
	var items []string
	pod := func(name, node, gpus string) string {
		return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "machine-learning", "uid": "%[1]s"},
			"spec": {"nodeName": "%s", "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "7", "nvidia.com/gpu": "%s"},
			"limits": {"nvidia.com/gpu": "%[3]s"}}}]}}`, name, node, gpus)
	}
	for i := range nodes {
		node := fmt.Sprintf("ip-10-123-%d-254.eu-central-1.compute.internal", i)
		items = append(items, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s", "uid": "n%d",
			"labels": {"topology.kubernetes.io/zone": "a-zone-with-a-very-long-name-number-%d"}},
			"status": {"allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8", "rdma.example.com/infiniband": "1000"}}}`, node, i, i%3),
			pod(fmt.Sprintf("distributed-training-of-a-large-model-worker-%d", i), node, "6"))
	}
	for i := range 14 {
		items = append(items, pod(fmt.Sprintf("a-pending-pod-with-quite-a-long-name-%d", i), "", "2"))
	}
	return `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(items, ",") + "]}"
}

// document is a page or a picture as a browser gets it.
type document struct {
	Name, HTML string
}

// documents are the answers, each as a page and as a picture, in each font, and at the end one with a fault of each kind.
func documents(t *testing.T) []document {
	t.Helper()
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	var out []document
	add := func(name, text string) {
		for _, font := range fonts {
			out = append(out, document{name + ", " + font, text + `<style>* { font-family: "` + font + `" !important }</style>`})
		}
	}
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
	for _, c := range drawnCommands {
		dir := filepath.Join(examples, c.dir)
		if c.files != nil {
			dir = t.TempDir()
		}
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := strings.Fields(c.args)
		for i, arg := range args {
			if i > 0 && args[i-1] == "-f" {
				args[i] = filepath.Join(dir, arg)
			}
		}
		for _, format := range []string{"html", "svg"} {
			code, stdout, stderr := stowage(t, append(args, "-o", format)...)
			if code == 2 {
				t.Fatalf("%s: %s", c.name, stderr)
			}
			add(c.name+" as "+format, policy.ReplaceAllString(stdout, ""))
		}
	}
	add("control", `<svg xmlns="http://www.w3.org/2000/svg" class="picture" width="400" height="60">
		<g class="node"><rect width="40" height="40"/><text x="2" y="12">wider than its node</text></g>
		<g class="legend"><g class="key"><rect x="1" y="41" width="10" height="8"/><text x="4" y="50">under its swatch</text></g></g>
		<text x="250" y="20">one text</text><text x="260" y="22">on another</text><text x="360" y="50">beyond the picture</text></svg>`)
	return out
}

// TestPicturesInABrowser holds that no text of a page or a picture lies on another, on a swatch, or beyond its node, in two fonts, as a
// browser lays them out.
func TestPicturesInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv(requireBrowser) != "" {
			t.Fatal("chromium is missing, and " + requireBrowser + " is set")
		}
		t.Skip("chromium is missing: apt-get install chromium fonts-dejavu-core fonts-liberation")
	}
	all := documents(t)
	found := layout(t, browser, all)
	for _, d := range all {
		faults, texts := found[d.Name].Faults, found[d.Name].Texts
		if strings.HasPrefix(d.Name, "control") {
			if len(faults) != 4 {
				t.Errorf("%s: %d faults found, not 4: %q", d.Name, len(faults), faults)
			}
			continue
		}
		if texts < 5 {
			t.Errorf("%s: only %d texts are laid out", d.Name, texts)
		}
		for _, f := range faults {
			t.Errorf("%s: %s", d.Name, f)
		}
	}
}

// laidOut is what the script finds in a document.
type laidOut struct {
	Texts  int
	Faults []string
}

// layout has a browser lay out documents, and returns what is wrong with each.
func layout(t *testing.T, browser string, all []document) map[string]laidOut {
	t.Helper()
	text, err := json.Marshal(map[string]any{"documents": all, "fonts": fonts})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "all.html")
	source := `<!DOCTYPE html><meta charset="utf-8"><body><script>const input = ` + string(text) + ";\n" + layoutScript + "</script></body>"
	if err := os.WriteFile(page, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "user"),
		"--virtual-time-budget=20000", "--dump-dom", "file://"+page).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	_, rest, _ := strings.Cut(string(out), "<pre>")
	result, _, ok := strings.Cut(rest, "</pre>")
	if !ok {
		t.Fatalf("%s printed no result", browser)
	}
	var found struct {
		Missing   []string // fonts
		Documents map[string]laidOut
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(result)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Missing) > 0 {
		t.Fatalf("fonts are missing: %q", found.Missing)
	}
	return found.Documents
}
