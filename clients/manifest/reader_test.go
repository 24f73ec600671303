package manifest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// summary is what a test compares of a snapshot: nodes with their pods, namespaces, selectors and the queue.
func summary(s *kube.Snapshot) []string {
	var out []string
	for _, n := range s.Cluster.Nodes {
		line := "node " + n.Name
		for _, p := range n.Pods {
			line += " " + p.Name
		}
		out = append(out, line)
	}
	for _, n := range s.Cluster.Namespaces {
		out = append(out, "namespace "+n.Name)
	}
	for _, w := range s.Cluster.WorkloadSelectors {
		out = append(out, "selector "+w.Namespace+"/"+w.Name)
	}
	for _, e := range s.Queue {
		out = append(out, "pending "+e.Origin.Kind+" "+e.Origin.Namespace+"/"+e.Origin.Name)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"only comments", "# a\n---\n# b\n", nil},
		{"documents", `
apiVersion: v1
kind: Node
metadata: {name: a}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec: {nodeName: a, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Service
metadata: {name: s}
`, []string{"node a p", "namespace default", "namespace shop", "selector default/s"}},
		{"a list as kubectl prints it", `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},
	{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}]}`,
			[]string{"node a", "namespace default", "pending Pod default/p"}},
		{
			"a typed list", "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
			[]string{"node a", "node b"},
		},
		{
			"JSON values in a row",
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}`,
			[]string{"node a", "node b"},
		},
		{
			"documents that end with dots",
			"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n...\napiVersion: v1\nkind: Node\nmetadata: {name: b}\n... # end\n# no more\n" +
				"---\napiVersion: v1\nkind: Node\nmetadata:\n  name: c\n  annotations: {text: \"x\\\n    ...\"}\n...\n",
			[]string{"node a", "node b", "node c"},
		},
		{"flow style", `{apiVersion: v1, kind: Node, metadata: {name: a}}`, []string{"node a"}},
		{
			"kinds that decisions do not read", "apiVersion: v1\nkind: ConfigMap\ndata: {kind: Pod}\n---\napiVersion: x/v1\nkind: Other\n",
			nil,
		},
		{"kinds of others with names that are known", `
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {minMember: 3}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w}, spec: {podSets: []}}
---
{apiVersion: scheduling.k8s.io/v1alpha3, kind: Workload, metadata: {name: w}, spec: {podGroupTemplates: []}}
---
{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {basic: {}}}}
`, []string{"namespace default"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := manifest.NewReader(kube.Options{})
			if err := r.Read("input", strings.NewReader(c.text)); err != nil {
				t.Fatal(err)
			}
			s, err := r.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, summary(s)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestErrorsNameTheFileTheDocumentTheObjectAndTheField(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"kind: Node\napiVersion: v1\nmetadata: {name: a}\nspec: {unschedulabel: true}",
			`input: document 1: Node a: unknown field "spec.unschedulabel"`,
		},
		{"---\nkind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{resources: {requests: {cpu: 1x}}}]}",
			`input: document 1: Pod p: spec.containers[0].resources.requests[cpu]: quantities must match`},
		{
			"kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{ports: [{hostPort: x}]}]}",
			`Pod p: spec.containers[0].ports[0].hostPort: must be an integer, is a string`,
		},
		{"[{op: add}]", `input: document 1: must be an object, is a list`},
		{"just text", `input: document 1: must be an object, is a string`},
		{"kind: ConfigMap\nmetadata: {name: n}", `input: document 1: ConfigMap: metadata.name: must be a string, is a boolean: put it in quotes`},
		{
			"kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: [{}, {env: [{name: A, value: x}, {name: B, value: true}]}]}",
			`Pod p: spec.containers[1].env[1].value: must be a string, is a boolean: put it in quotes`,
		},
		{"kind: Pod\napiVersion: v1\nmetadata: {name: p, labels: {v: 1}}", `Pod p: metadata.labels.v: must be a string, is a number: put it in quotes`},
		{"kind: Deployment\napiVersion: apps/v1\nmetadata: {name: d}\nspec: {replicas: \"3\"}", `Deployment d: spec.replicas: must be an integer, is a string`},
		{"kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: {name: c}}", `Pod p: spec.containers: must be a list, is an object`},
		{"kind: Deployment\nmetadata: {name: d}", `apiVersion: Unsupported value: "": supported values: "apps/v1"`},
		{"apiVersion: v1", `input: document 1: kind: Required value`},
		{"kind: Node\napiVersion: v1", `metadata.name: Required value`},
		{"a: b\n---\nx: [", `input: document 2`},
		{"kind: Node\nkind: Pod", `input: document 1: yaml: unmarshal errors`},
		{
			"kind: NodeList\napiVersion: v1\nitems: [{metadata: {name: a}}, {metadata: {name: a, labels: {b: c}}}]",
			`input: document 1: items[1]: Node a: metadata.name: Duplicate value`,
		},
		{"{kind: List, items: [{kind: List, items: [{kind: List, items: []}]}]}", `lists within lists`},
		{`{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}} {"kind"`, `input: document 2: unexpected EOF`},
	} {
		r := manifest.NewReader(kube.Options{})
		err := r.Read("input", strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestObjectsThatDoNotConvertAreReadWithTheOthers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			"kind: Pod\napiVersion: v1\nmetadata: {name: p, uid: u}\nspec: {tolerations: [{operator: Is}]}",
			`Pod p: spec.tolerations[0].operator: Unsupported value: "Is"`,
		},
		{
			"kind: StatefulSet\napiVersion: apps/v1\nmetadata: {name: s}\nspec: {replicas: 2000000000, selector: {matchLabels: {a: s}}, " +
				"template: {metadata: {labels: {a: s}}, spec: {containers: [{name: c, image: i}]}}}",
			`StatefulSet s: spec.replicas: Too many`,
		},
		{
			"kind: Node\napiVersion: v1\nmetadata: {name: a, uid: a}\nspec: {taints: [{effect: Is}]}",
			`Node a: spec.taints[0].effect: Unsupported value: "Is"`,
		},
	} {
		r := manifest.NewReader(kube.Options{})
		if err := r.Read("input", strings.NewReader(c.text+"\n---\n{kind: Pod, apiVersion: v1, metadata: {name: other, uid: o}}")); err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		s, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Misreads) != 1 || !strings.HasPrefix(s.Misreads[0].Error(), "input: document 1: "+c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.text, s.Misreads, c.want)
		}
		if len(s.Queue) != 1 || s.Queue[0].Origin.Name != "other" {
			t.Errorf("%s\nqueue %v", c.text, s.Queue)
		}
	}
}

func TestReadingStopsAfterManyErrors(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	err := r.Read("input", strings.NewReader(strings.Repeat("a: b\n---\n", 1000)))
	if got := strings.Count(err.Error(), "\n") + 1; got != 20 {
		t.Errorf("%d errors", got)
	}
}

func TestSkippedWorkloadsAreReported(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("input", strings.NewReader(`
{kind: Rollout, apiVersion: argoproj.io/v1alpha1, spec: {template: {spec: {containers: [{name: c, image: i}]}}}}
---
{kind: JobSet, apiVersion: jobset.x-k8s.io/v1alpha2, spec: {replicatedJobs: [{template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}]}}
---
{kind: ControllerRevision, apiVersion: apps/v1, data: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}
---
{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, spec: {properties: {containers: {type: array}}}}
---
{kind: VirtualMachine, apiVersion: kubevirt.io/v1, spec: {template: {spec: {domain: {devices: {}}}}}}
---
{kind: Prometheus, apiVersion: monitoring.coreos.com/v1, spec: {replicas: 2}}
---
{kind: Idle, apiVersion: example.com/v1, spec: {replicas: 0}}
---
{kind: SealedSecret, apiVersion: bitnami.com/v1alpha1, spec: {template: {metadata: {name: s}}}}
---
{kind: CronJob, apiVersion: batch/v1beta1, metadata: {name: c}, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}}
---
{kind: Deployment, apiVersion: apps/v1beta1, metadata: {name: d}, spec: {template: {spec: {containers: [{name: c, image: i}]}}}}
---
{kind: PodGroup, apiVersion: scheduling.k8s.io/v1alpha1, metadata: {name: g}, spec: {}}
`)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{
		"1 JobSet", "1 Prometheus", "1 Rollout", "1 VirtualMachine", "1 apps/v1beta1 Deployment", "1 batch/v1beta1 CronJob",
	}, r.SkippedWorkloads()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestAnObjectReadTwiceCountsOnce(t *testing.T) {
	const text = `
{kind: Node, apiVersion: v1, metadata: {name: a}}
---
{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
---
{kind: Pod, apiVersion: v1, metadata: {generateName: p-}, spec: {containers: [{name: c, image: i}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: web, uid: w}, spec: {tolerations: [{operator: Is}]}}
`
	r := manifest.NewReader(kube.Options{})
	for _, name := range []string{"first", "second"} {
		if err := r.Read(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{
		"node a", "namespace default", "pending Pod default/p", "pending Pod default/p-*",
		"pending Pod default/p-*2",
	}, summary(s)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if len(s.Misreads) != 1 {
		t.Error(s.Misreads)
	}
}

func TestSkippedReportsKinds(t *testing.T) {
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("input", strings.NewReader("kind: Volume\n---\nkind: ConfigMap\n---\nkind: Volume\n---\nkind: Widget\napiVersion: v1\n---\nkind: Ingress\napiVersion: networking.k8s.io/v1\n")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"2 Volume", "1 Widget"}, r.Skipped()); d != "" {
		t.Error(d)
	}
}

func TestReadPath(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "{apiVersion: v1, kind: Node, metadata: {name: b}}",
		"a.json": `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}`,
		"c.txt":  "not a manifest",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := manifest.NewReader(kube.Options{})
	for _, path := range []string{dir, "-"} {
		if err := r.ReadPath(path, strings.NewReader("{apiVersion: v1, kind: Node, metadata: {name: c}}")); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"node a", "node b", "node c"}, summary(s)); d != "" {
		t.Error(d)
	}
	for _, path := range []string{filepath.Join(dir, "gone"), t.TempDir()} {
		if err := r.ReadPath(path, nil); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

func TestReadPathOfDirectories(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte("{apiVersion: v1, kind: Node, metadata: {name: z}}"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"b/c/d.yml": "{apiVersion: v1, kind: Node, metadata: {name: d}}",
		"b/a.yaml":  "{apiVersion: v1, kind: Node, metadata: {name: a}}",
		"e.json.gz": packed.String(), "f.gz": packed.String()[:9], "b/README": "x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path      string
		recursive bool
		want      []string
	}{
		{dir, false, []string{"node z"}},
		{link, false, []string{"node z"}},
		{dir, true, []string{"node a", "node d", "node z"}},
		{filepath.Join(dir, "b", "c"), true, []string{"node d"}},
	} {
		r := manifest.NewReader(kube.Options{})
		r.Recursive = c.recursive
		if err := r.ReadPath(c.path, nil); err != nil {
			t.Fatal(err)
		}
		s, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, summary(s)); d != "" {
			t.Errorf("%s, %v (-want +got)\n%s", c.path, c.recursive, d)
		}
	}
	r := manifest.NewReader(kube.Options{})
	for name, text := range map[string]string{
		"wrong/kustomization.yaml": "resources: [a.yaml]", "wrong/a.yaml": "{apiVersion: v1, kind: Node, metadata: {name: 1}}",
		"wrong/b.yaml": "[1]", "wrong/c.yaml": "resources: [a.yaml]",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := r.ReadPath(filepath.Join(dir, "wrong"), nil)
	for _, want := range []string{"a.yaml: document 1: Node: metadata.name: must", "b.yaml: document 1: must be", "c.yaml: document 1: kind: Required value"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %s", err, want)
		}
	}
	if d := cmp.Diff([]string{"1 Kustomization"}, r.Skipped()); d != "" {
		t.Error(d)
	}
	if err := r.ReadPath(filepath.Join(dir, "f.gz"), nil); err == nil || !strings.Contains(err.Error(), "f.gz: unexpected EOF") {
		t.Error(err)
	}
	if err := r.Read("half", bytes.NewReader(packed.Bytes()[:packed.Len()-9])); err == nil || !strings.Contains(err.Error(), "half: document 1: unexpected EOF") {
		t.Error(err)
	}
}

func TestJobsWithoutANameAreOthersEachTime(t *testing.T) {
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {generateName: j-}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"
	r := manifest.NewReader(kube.Options{})
	if err := r.Read("input", strings.NewReader(job+"\n---\n"+job)); err != nil {
		t.Fatal(err)
	}
	s, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"namespace default", "pending Job default/j-*", "pending Job default/j-*2"}, summary(s)); d != "" {
		t.Error(d)
	}
}

// FuzzManifest expects that no input panics, and that the templates and groups exist that the pods of the queue refer to.
func FuzzManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/seed/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := manifest.NewReader(kube.Options{})
		if err := r.Read("input", strings.NewReader(string(text))); err != nil {
			return
		}
		s, err := r.Snapshot()
		if err != nil {
			return // text that is not UTF-8
		}
		groups := map[string]uint64{}
		for _, e := range s.Queue {
			groups[e.Pods.PodGroup] += uint64(e.Pods.PodCount())
			if int(e.Pods.Pod.GetTemplateIndex()) >= len(s.Cluster.PodTemplates) {
				t.Fatalf("template %d of %d", e.Pods.Pod.GetTemplateIndex(), len(s.Cluster.PodTemplates))
			}
		}
		for _, e := range s.Waiting {
			if e.Message == "" || e.Pods.PodCount() == 0 {
				t.Fatalf("%v waits for nothing", e)
			}
		}
		delete(groups, "")
		for _, g := range slices.Concat(s.Cluster.GetPodGroups(), s.PodGroups) {
			if g.GetMinCount() == 0 || groups[g.Name] < uint64(g.GetMinCount()) {
				t.Fatalf("group %s has %d pods and needs %d", g.Name, groups[g.Name], g.GetMinCount())
			}
			delete(groups, g.Name)
		}
		if len(groups) > 0 {
			t.Fatalf("no groups %v", groups)
		}
	})
}
