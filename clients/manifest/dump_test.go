package manifest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/bench/kubectldump"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// dump returns a cluster of some MB, more than a document that may be YAML.
func dump(t testing.TB, o kubectldump.Options) ([]byte, kubectldump.Counts) {
	t.Helper()
	var out bytes.Buffer
	counts, err := kubectldump.Write(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), counts
}

func read(t *testing.T, in ...io.Reader) *kube.Snapshot {
	t.Helper()
	r := manifest.NewReader(kube.Options{})
	for i, file := range in {
		if err := r.Read(fmt.Sprint("file ", i), file); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameCluster compares all of what requests have.
func sameCluster(t *testing.T, what string, want, got *kube.Snapshot) {
	t.Helper()
	if !proto.Equal(want.Cluster, got.Cluster) {
		d := cmp.Diff(want.Cluster, got.Cluster, protocmp.Transform())
		t.Errorf("%s (-want +got)\n%.4000s", what, d)
	}
	if d := cmp.Diff(summary(want), summary(got)); d != "" {
		t.Errorf("%s (-want +got)\n%.4000s", what, d)
	}
	if d := cmp.Diff(want.Existing, got.Existing); d != "" {
		t.Errorf("%s (-want +got)\n%.4000s", what, d)
	}
}

// TestEveryFormOfADumpIsTheSame reads a dump item by item, and in all other forms that it may have.
func TestEveryFormOfADumpIsTheSame(t *testing.T) {
	text, counts := dump(t, kubectldump.Options{Nodes: 6})
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var files []io.Reader
	var row, documents bytes.Buffer
	for _, raw := range list.Items {
		files = append(files, bytes.NewReader(raw))
		row.Write(raw)
		documents.Write(raw)
		documents.WriteString("\n---\n")
	}
	want := read(t, files...)
	if n := len(want.Cluster.Nodes); n != counts.Nodes || podsOnNodes(want) != counts.Pods {
		t.Fatalf("%d nodes and %d pods", n, podsOnNodes(want))
	}
	inYAML, _ := dump(t, kubectldump.Options{Nodes: 6, YAML: true})
	if len(text) < 3<<19 || len(inYAML) < 1<<19 {
		t.Fatal("too short to be read in parts: ", len(text), len(inYAML))
	}
	for what, in := range map[string]io.Reader{
		"a list":                bytes.NewReader(text),
		"a list in small reads": iotest.HalfReader(bytes.NewReader(text)),
		"objects in a row":      &row,
		"documents":             &documents,
		"YAML":                  bytes.NewReader(inYAML),
		"YAML with an alias":    strings.NewReader(strings.Replace(string(inYAML), "karpenter.sh/nodepool: pool-0", "karpenter.sh/nodepool: &a pool-0", 1)),
	} {
		sameCluster(t, what, want, read(t, in))
	}
}

func podsOnNodes(s *kube.Snapshot) (n int) {
	for _, node := range s.Cluster.Nodes {
		n += len(node.Pods)
	}
	return n
}

// The API server leaves the type of items out, and other tools put the list's own after them.
func TestTheKindOfItemsFollowsFromTheList(t *testing.T) {
	text, counts := dump(t, kubectldump.Options{Nodes: 6})
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var bare []map[string]any
	for _, item := range list.Items {
		if item["kind"] == "Pod" {
			delete(item, "kind")
			delete(item, "apiVersion")
			bare = append(bare, item)
		}
	}
	items, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":%s}`, `{"apiVersion":"v1","items":%s,"kind":"PodList"}`,
		`{"items":%s,"metadata":{},"kind":"PodList","apiVersion":"v1"}`,
	} {
		s := read(t, strings.NewReader(fmt.Sprintf(form, items)))
		if len(s.HomelessPods) != counts.Pods {
			t.Errorf("%s: %d pods", form, len(s.HomelessPods))
		}
	}
	for form, want := range map[string]string{
		`{"apiVersion":"v1","items":%s,"kind":"List"}`:                                 "input: document 1: items[0]: kind: Required value",
		`{"apiVersion":"v1","items":%s,"kind":"Node","metadata":{"name":"a"}}`:         `input: document 1: Node a: unknown field "items"`,
		`{"apiVersion":"v1","items":%s,"kind":"PodList","items":[]}`:                   `document 1: PodList: duplicate field "items"`,
		`{"apiVersion":"v1","items":%s,"kind":"PodList"`:                               "input: document 1: yaml: line 1: ",
		`{"apiVersion":"v1","items":[5,{"kind":"Node"},null,%s],"kind":"PodList"}`:     "input: document 1: items[0]: must be an object, is a number",
		`{"apiVersion":"v1","items":%s,"kind":"PodList"}{"kind":"Node",'a'}` + "\n---": "input: document 2: invalid character '\\'' looking for",
	} {
		err := manifest.NewReader(kube.Options{}).Read("input", strings.NewReader(fmt.Sprintf(form, items)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %.300v\nwant %s", form, err, want)
		}
	}
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("input", strings.NewReader(fmt.Sprintf(`{"apiVersion":"x/v1","items":%s,"kind":"Other"}`, items))); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"1 Other"}, r.Skipped()); d != "" {
		t.Error(d)
	}
}

// Errors in a long list name the item, in the order of the list, up to the maximum.
func TestErrorsInALongList(t *testing.T) {
	text, _ := dump(t, kubectldump.Options{Nodes: 6})
	parts := strings.Split(string(text), `"restartPolicy"`)
	for i := 100; i < 140; i++ {
		parts[i] += fmt.Sprintf(`"surplus%d": 1, `, i)
	}
	err := manifest.NewReader(kube.Options{}).Read("input", strings.NewReader(strings.Join(parts, `"restartPolicy"`)))
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 20 {
		t.Errorf("%d errors", len(lines))
	}
	for i, line := range lines {
		// Nodes come first, and the part before a pod's policy ends in it.
		want := fmt.Sprintf("input: document 1: items[%d]: Pod ", 6+100+i)
		if !strings.HasPrefix(line, want) || !strings.HasSuffix(line, fmt.Sprintf(`unknown field "spec.surplus%d"`, 100+i)) {
			t.Errorf("%s, not %s", line, want)
		}
	}
	last := bytes.LastIndex(text, []byte("Running\""))
	for _, broken := range []string{
		string(text[:last]) + "\x01" + string(text[last:]), // in a list longer than the window
		string(text[:len(text)/2]),
	} {
		if err := manifest.NewReader(kube.Options{}).Read("input", strings.NewReader(broken)); err == nil {
			t.Error("no error")
		}
	}
}

// A document in flow style begins like JSON.
func TestFlowStyleThatLooksLikeJSON(t *testing.T) {
	for _, text := range []string{
		`{"kind": "List", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}, ], }`,
		`{"kind": "List", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": a}}]} # comment`,
		"{\"kind\": \"Node\", # comment\n\"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}",
		`{'kind': 'Node', 'apiVersion': 'v1', 'metadata': {'name': 'a'}}`,
	} {
		s := read(t, strings.NewReader(text+"\n---\n{\"kind\": \"Node\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"b\"}}"))
		if d := cmp.Diff([]string{"node a", "node b"}, summary(s)); d != "" {
			t.Errorf("%s\n%s", text, d)
		}
	}
}

// BenchmarkReadDump reads what kubectl prints of a cluster with 15,000 pods. It reports MB per second of processor time, and the
// peak memory of the process, which the reader causes: dumps are written to files.
func BenchmarkReadDump(b *testing.B) {
	for _, o := range []kubectldump.Options{{Nodes: 50, YAML: true}, {Nodes: 200, ManagedFields: true}, {Nodes: 500}} {
		form := "json"
		if o.YAML {
			form = "yaml"
		}
		path := filepath.Join(b.TempDir(), "cluster."+form)
		file, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		counts, err := kubectldump.Write(file, o)
		if err != nil {
			b.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil || file.Close() != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s/nodes=%d/managedFields=%v", form, o.Nodes, o.ManagedFields), func(b *testing.B) {
			b.SetBytes(info.Size())
			before, _ := used(b)
			n := 0
			for b.Loop() {
				n++
				r := manifest.NewReader(kube.Options{})
				if err := r.ReadPath(path, nil); err != nil {
					b.Fatal(err)
				}
				s, err := r.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				if len(s.Cluster.Nodes) != counts.Nodes || podsOnNodes(s) != counts.Pods || len(s.Existing) != counts.Deployments {
					b.Fatalf("%d nodes, %d pods, %d workloads", len(s.Cluster.Nodes), podsOnNodes(s), len(s.Existing))
				}
			}
			after, most := used(b)
			b.ReportMetric(float64(info.Size())*float64(n)/1e6/(after-before).Seconds(), "MB/cpu-s")
			b.ReportMetric(float64(most)/1e6, "peak-MB")
		})
	}
}
