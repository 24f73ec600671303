package remedy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// TestPatches applies the patch of every change that is offered for the pods of the corpus, as the API server would, and asks again:
// the node that the change names is feasible.
func TestPatches(t *testing.T) {
	cases, err := scenarios.Load("../scenarios/testdata/pending")
	if err != nil {
		t.Fatal(err)
	}
	decide := scenarios.Client(conformance.Direct(placement.New(0, nil)))
	ask := func(c *scenarios.Case, s *scenarios.Step) (*scenarios.Question, *stowagev1.FilterResponse) {
		q, err := scenarios.Ask(c, s)
		if err != nil {
			t.Fatal(c.Name(), err)
		}
		a, err := decide(t.Context(), q)
		if err != nil {
			t.Fatal(c.Name(), err)
		}
		return q, a.Filter
	}
	patched := 0
	for i := range cases {
		c := &cases[i]
		q, answer := ask(c, &c.Steps[0])
		entries, err := q.Snapshot.Pending(c.Steps[0].Filter.Pod)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range answer.GetChanges() {
			of := remedy.Workload{Kind: "Deployment", Namespace: entries[0].Origin.Namespace, Name: "web"}
			fix, err := remedy.Of(change, entries[0].Object(), of, q.Snapshot.Cluster.GetNodes())
			if err != nil || fix.Patch == nil || len(fix.Commands) > 1 {
				continue // it is no patch, or one and a change of a node
			}
			pod := filepath.Join(t.TempDir(), "pod.yaml")
			if err := os.WriteFile(pod, patchedPod(t, entries[0].Object(), fix.Patch), 0o600); err != nil {
				t.Fatal(err)
			}
			cluster, err := filepath.Abs(filepath.Join(c.Dir, c.Steps[0].Files[0]))
			if err != nil {
				t.Fatal(err)
			}
			_, again := ask(&scenarios.Case{Dir: "/"}, &scenarios.Step{
				Filter: &scenarios.Filter{Pod: c.Steps[0].Filter.Pod}, Files: []string{cluster, pod},
			})
			if want := change.GetNodes().GetNames()[0]; !slices.Contains(again.GetFeasibleNodes().GetNames(), want) {
				t.Errorf("%s: %s is not feasible with\n%s", c.Name(), want, fix.Patch)
			}
			patched++
		}
	}
	if patched < 30 {
		t.Errorf("%d changes were patched: the corpus no longer has them", patched)
	}
	t.Log(patched, "patches")
}

// patchedPod returns a pod whose spec the patch of a Deployment has changed.
func patchedPod(t *testing.T, pod *corev1.Pod, patch []byte) []byte {
	t.Helper()
	var of struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(patch, &of); err != nil {
		t.Fatal(err)
	}
	own := pod.DeepCopy()
	own.APIVersion, own.Kind = "v1", "Pod"
	before, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, of.Spec.Template, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// TestLoweredRequest expects that the request of one container is lowered if the others, and what runs before, leave the pod's request
// to it.
func TestLoweredRequest(t *testing.T) {
	with := func(name, cpu string) corev1.Container {
		c := corev1.Container{Name: name}
		if cpu != "" {
			c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		}
		return c
	}
	limited := corev1.Container{Name: "limited", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"cpu": resource.MustParse("4")},
	}}
	sidecar := with("sidecar", "1")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	once := with("once", "1")
	once.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
	idle := with("idle", "")
	idle.RestartPolicy = sidecar.RestartPolicy
	change := &stowagev1.Change{Kind: &stowagev1.Change_LoweredRequest{
		LoweredRequest: &stowagev1.LoweredRequest{Resource: "cpu", From: 4000, To: 1500},
	}}
	for name, test := range map[string]struct {
		init, containers []corev1.Container
		lowered          string // the container, empty if the change is no patch
	}{
		"alone":                         {nil, []corev1.Container{with("web", "4")}, "web"},
		"by its limit":                  {nil, []corev1.Container{with("log", ""), limited}, "limited"},
		"beside others without":         {nil, []corev1.Container{with("log", ""), with("web", "4"), with("zero", "0")}, "web"},
		"after smaller ones":            {[]corev1.Container{with("setup", "1500m"), idle}, []corev1.Container{with("web", "4")}, "web"},
		"after one with a policy":       {[]corev1.Container{once}, []corev1.Container{with("web", "4")}, "web"},
		"after a larger one":            {[]corev1.Container{with("setup", "1501m")}, []corev1.Container{with("web", "4")}, ""},
		"beside a sidecar":              {[]corev1.Container{sidecar}, []corev1.Container{with("web", "3")}, ""},
		"beside others":                 {nil, []corev1.Container{with("log", "1"), with("web", "3")}, ""},
		"less than the pod's":           {nil, []corev1.Container{with("log", ""), with("web", "3")}, ""},
		"the init container's the most": {[]corev1.Container{with("setup", "4")}, []corev1.Container{with("web", "2")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.init, Containers: test.containers}}
			fix, err := remedy.Of(change, pod, remedy.Workload{Kind: "Deployment", Namespace: "default", Name: "web"}, nil)
			if test.lowered == "" {
				if want := "the request of cpu is in several places: lower their sum to 1500m"; err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got corev1.Pod
			if err := json.Unmarshal(patchedPod(t, pod, fix.Patch), &got); err != nil {
				t.Fatal(err)
			}
			for i, c := range got.Spec.Containers {
				want := pod.Spec.Containers[i].Resources.Requests["cpu"]
				if c.Name == test.lowered {
					want = resource.MustParse("1500m")
				}
				if q := c.Resources.Requests["cpu"]; q.Cmp(want) != 0 {
					t.Errorf("%s requests %s, want %s", c.Name, &q, &want)
				}
			}
		})
	}
}

func TestWhatCannotBePatched(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"a": "b"},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule},
			{TopologyKey: "zone", MaxSkew: 2, WhenUnsatisfiable: corev1.ScheduleAnyway},
		},
		Containers: []corev1.Container{{Name: "a"}, {Name: "b"}},
	}}
	skew := &stowagev1.Change{Kind: &stowagev1.Change_RaisedMaxSkew{RaisedMaxSkew: &stowagev1.RaisedMaxSkew{Index: 1, To: 5}}}
	request := &stowagev1.Change{Kind: &stowagev1.Change_LoweredRequest{LoweredRequest: &stowagev1.LoweredRequest{Resource: "cpu", To: 500}}}
	node := &stowagev1.Change{Kind: &stowagev1.Change_AddedNode{AddedNode: &stowagev1.AddedNode{}}}
	label := func(key string) *stowagev1.Change {
		return &stowagev1.Change{Kind: &stowagev1.Change_ChangedNodeRequirement{ChangedNodeRequirement: &stowagev1.ChangedNodeRequirement{
			From: &stowagev1.NodeSelectorRequirement{Key: key, Values: []string{"b"}},
		}}}
	}
	for _, test := range []struct {
		name   string
		change *stowagev1.Change
		kind   string
		want   string
	}{
		{"two constraints with one topology key", skew, "Deployment", "a patch does not express the change"},
		{"two containers", request, "Deployment", "the request of cpu is in several places: lower their sum to 500m"},
		{"a node to add", node, "Deployment", "no command or patch makes the change"},
		{"a pod of its own", label("a"), "Pod", "the spec of pod web cannot be patched"},
		{"a Job", label("a"), "Job", "the template of Job web cannot be patched"},
		{"a kind without a known template", label("a"), "Rollout", "kubectl patches no pod template of Rollout web"},
		{"what a RuntimeClass adds", label("c"), "Deployment", "the node selector c is not the pod's own"},
		{"the node affinity of a DaemonSet's pod", label("a"), "DaemonSet", "its pods are not as the template of DaemonSet web"},
	} {
		_, err := remedy.Of(test.change, pod, remedy.Workload{Kind: test.kind, Namespace: "default", Name: "web"}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// TestCombinedInOneList makes two changes of one list in the order of the answer: indexes are positions in the pod's own spec.
func TestCombinedInOneList(t *testing.T) {
	term := func(app string) corev1.PodAffinityTerm {
		selects := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		return corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: selects}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z9"}},
				{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"nvme"}},
				{Key: "arch", Operator: corev1.NodeSelectorOpExists},
			}}},
		}},
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term("db"), term("cache")},
		},
	}}}
	requirement := func(expression uint32, from string, to *stowagev1.NodeSelectorRequirement) *stowagev1.Change {
		changed := &stowagev1.ChangedNodeRequirement{
			TermIndex: new(uint32(0)), ExpressionIndex: expression, From: &stowagev1.NodeSelectorRequirement{Key: from}, To: to,
		}
		return &stowagev1.Change{Kind: &stowagev1.Change_ChangedNodeRequirement{ChangedNodeRequirement: changed}}
	}
	in := stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN
	ssd := requirement(1, "disk", &stowagev1.NodeSelectorRequirement{Key: "disk", Operator: in, Values: []string{"ssd"}})
	storage := requirement(1, "disk", &stowagev1.NodeSelectorRequirement{Key: "storage", Operator: in}) // without its values
	first := &stowagev1.Change{Kind: &stowagev1.Change_PreferredRule{PreferredRule: &stowagev1.PodRule{
		Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY,
	}}}
	namespace := &stowagev1.Change{Kind: &stowagev1.Change_AddedNamespace{AddedNamespace: &stowagev1.AddedNamespace{
		Rule: &stowagev1.PodRule{Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, Index: 1}, Added: "cache",
	}}}
	expressions := func(s *corev1.PodSpec) any {
		return s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions
	}
	whole := &stowagev1.Change{Kind: &stowagev1.Change_PreferredRule{PreferredRule: &stowagev1.PodRule{
		Plugin: stowagev1.Plugin_PLUGIN_NODE_AFFINITY,
	}}}
	preferred := func(s *corev1.PodSpec) any {
		return s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions
	}
	required := func(s *corev1.PodSpec) any {
		return s.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	for _, test := range []struct {
		name string
		pair []*stowagev1.Change
		list func(*corev1.PodSpec) any
		want string
	}{
		{"a value", []*stowagev1.Change{requirement(0, "zone", nil), ssd}, expressions, `[{disk In [ssd]} {arch Exists []}]`},
		{"a key", []*stowagev1.Change{requirement(0, "zone", nil), storage}, expressions, `[{storage In [nvme]} {arch Exists []}]`},
		{
			"two given up", []*stowagev1.Change{requirement(0, "zone", nil), requirement(2, "arch", nil)}, expressions,
			`[{disk In [nvme]}]`,
		},
		{
			"a requirement, and the rest preferred", []*stowagev1.Change{requirement(0, "zone", nil), whole}, preferred,
			`[{disk In [nvme]} {arch Exists []}]`,
		},
		{"a term", []*stowagev1.Change{first, namespace}, required, `[{&LabelSelector{MatchLabels:map[string]string{app: cache,},` +
			`MatchExpressions:[]LabelSelectorRequirement{},} [default cache] zone nil [] []}]`},
	} {
		for range 2 {
			combined := &stowagev1.Change{Kind: &stowagev1.Change_Combined{Combined: &stowagev1.CombinedChange{Changes: test.pair}}}
			fix, err := remedy.Of(combined, pod, remedy.Workload{Kind: "Deployment", Namespace: "default", Name: "web"}, nil)
			if err != nil {
				t.Fatal(test.name, err)
			}
			var changed corev1.Pod
			if err := json.Unmarshal(patchedPod(t, pod, fix.Patch), &changed); err != nil {
				t.Fatal(test.name, err)
			}
			if got := fmt.Sprint(test.list(&changed.Spec)); got != test.want {
				t.Errorf("%s: %s, want %s", test.name, got, test.want)
			}
			slices.Reverse(test.pair)
		}
	}
}

// TestPreferredBesideItsTwin: a pod may have one ScheduleAnyway constraint by topology key, so that another one goes, and a patch, which
// distinguishes constraints by their key, does not express that.
func TestPreferredBesideItsTwin(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
		{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule},
		{TopologyKey: "zone", MaxSkew: 2, WhenUnsatisfiable: corev1.ScheduleAnyway},
	}}}
	change := &stowagev1.Change{Kind: &stowagev1.Change_PreferredRule{PreferredRule: &stowagev1.PodRule{
		Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, TopologyKey: "zone",
	}}}
	fix, err := remedy.Of(change, pod, remedy.Workload{Kind: "Deployment", Namespace: "shop", Name: "web"}, nil)
	if err == nil || !strings.Contains(err.Error(), "a patch does not express the change: edit spec.template.spec") {
		t.Errorf("%v, %+v", err, fix)
	}
}
