package compare_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// integrationTable is a test of kube-scheduler's integration tests.
type integrationTable struct {
	// File is below test/integration/scheduler of k8s.io/kubernetes.
	File string `json:"file"`
	Test string `json:"test"`
	// Memory of the nodes; none if empty.
	Memory string           `json:"memory"`
	Rows   []integrationRow `json:"rows"`
	Listed []struct {
		Reason string   `json:"reason"`
		Rows   []string `json:"rows"`
	} `json:"listed"`
}

// integrationRow is one situation, and the outcome that the row records. A test without a table is a row of its own name; one
// that goes through several situations has a row for each Step.
type integrationRow struct {
	Row     string `json:"row"`
	Step    string `json:"step"`
	Differs string `json:"differs"` // what is different from the row

	Nodes []struct {
		Name   string            `json:"name"`
		CPU    resource.Quantity `json:"cpu"`
		Memory string            `json:"memory"`
		Labels map[string]string `json:"labels"`
	} `json:"nodes"`
	Groups []struct {
		Name     string `json:"name"`
		Priority int32  `json:"priority"`
		MinCount int32  `json:"minCount"`
		Disrupts string `json:"disrupts"`
		Topology string `json:"topology"`
	} `json:"groups"`
	Pods   []integrationPod  `json:"pods"`
	Queue  []integrationPod  `json:"queue"`
	Budget map[string]string `json:"budget"` // the labels of pods that may not be evicted
	// Prefer is the node that the pods of the queue prefer.
	Prefer       string `json:"prefer"`
	TieBreakSeed uint64 `json:"tieBreakSeed"`

	// Preempted are all pods that are evicted; Scheduled have a node in the end. Nominated were nominated before they were placed.
	Preempted     []string `json:"preempted"`
	Scheduled     []string `json:"scheduled"`
	Unschedulable []string `json:"unschedulable"`
	Nominated     []string `json:"nominated"`
	// ByGroups is how many pods are evicted by groups.
	ByGroups *int `json:"byGroups"`
	// BeforePreemption are placed before their group evicts others.
	BeforePreemption []string `json:"beforePreemption"`
	// PlacedOn are the nodes that the pods of the queue are placed on.
	PlacedOn []string `json:"placedOn"`
	// Condition is what the condition of the queue's group says after the first attempt.
	Condition []string `json:"condition"`
}

type integrationPod struct {
	Name        string                 `json:"name"`
	Node        string                 `json:"node"`
	CPU         *resource.Quantity     `json:"cpu"`
	Memory      *resource.Quantity     `json:"memory"`
	Priority    int32                  `json:"priority"`
	Group       string                 `json:"group"`
	Labels      map[string]string      `json:"labels"`
	Ports       []corev1.ContainerPort `json:"ports"`
	Spec        corev1.PodSpec         `json:"spec"`
	NominatedTo string                 `json:"nominatedTo"`
	Terminating bool                   `json:"terminating"`
}

func integrationTables(t *testing.T) []integrationTable {
	t.Helper()
	return recorded[struct {
		Tables []integrationTable `json:"tables"`
	}](t, "integration.yaml").Tables
}

// kube-scheduler's queue comes to the outcome that its own integration test records, and Stowage to the same one, field by field.
func TestIntegrationRows(t *testing.T) {
	for _, table := range integrationTables(t) {
		for _, r := range table.Rows {
			t.Run(table.Test+"/"+strings.TrimSuffix(r.Row+", "+r.Step, ", "), func(t *testing.T) {
				c := r.scenario(table.Memory)
				if c.Whole = true; len(r.Condition) > 0 {
					once := c.Copy()
					once.Whole = false
					r.checkCondition(t, agreed(t, once))
				}
				r.checkQueue(t, c, agreed(t, c).Queue)
			})
		}
	}
}

// agreed compares Stowage with kube-scheduler, and returns what kube-scheduler says.
func agreed(t *testing.T, c *scenario.Case) *compare.Result {
	t.Helper()
	result, err := compare.Run(t.Context(), c, inProcess)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Differences {
		t.Error(d)
	}
	return result
}

func (r *integrationRow) checkCondition(t *testing.T, result *compare.Result) {
	t.Helper()
	for _, part := range r.Condition {
		if text := result.Answers.Place.PodGroups[0].Message; !strings.Contains(text, part) {
			t.Errorf("the condition is %q, without %q", text, part)
		}
	}
}

func (r *integrationRow) checkQueue(t *testing.T, c *scenario.Case, ran *oracle.QueueResult) {
	t.Helper()
	evicted, nominated, byGroups := map[string]bool{}, map[string]bool{}, 0
	for _, e := range ran.Evictions {
		for _, v := range e.Victims {
			evicted[v.Name] = true
		}
		if e.Group == "" {
			nominated[c.Queue[e.Entry].Pod.Name] = true
			continue
		}
		byGroups += len(e.Victims)
		for entry := range e.Nominated {
			nominated[c.Queue[entry].Pod.Name] = true
		}
	}
	scheduled, soon := map[string]bool{}, map[string]bool{}
	for _, p := range c.Pods {
		scheduled[p.Name] = !evicted[p.Name]
	}
	for _, p := range ran.Pods {
		name := c.Queue[p.Entry].Pod.Name
		scheduled[name] = p.Placed > 0 && !p.Evicted
		soon[name] = scheduled[name] && p.Attempts == 1 && !nominated[name] && len(evicted) > 0
		if on := c.Nodes[p.Node].Name; p.Placed > 0 && len(r.PlacedOn) > 0 && !slices.Contains(r.PlacedOn, on) {
			t.Errorf("%s is placed on %s", name, on)
		}
	}
	if got := slices.Sorted(maps.Keys(evicted)); !slices.Equal(got, slices.Sorted(slices.Values(r.Preempted))) {
		t.Errorf("%v are evicted, not %v", got, r.Preempted)
	}
	if r.ByGroups != nil && byGroups != *r.ByGroups {
		t.Errorf("groups evict %d pods, not %d", byGroups, *r.ByGroups)
	}
	expectAll(t, "scheduled", r.Scheduled, scheduled, true)
	expectAll(t, "scheduled", r.Unschedulable, scheduled, false)
	expectAll(t, "nominated", r.Nominated, nominated, true)
	expectAll(t, "placed before its group preempts", r.BeforePreemption, soon, true)
}

func expectAll(t *testing.T, what string, names []string, are map[string]bool, want bool) {
	t.Helper()
	for _, name := range names {
		if are[name] != want {
			t.Errorf("%s is %s: %t", name, what, are[name])
		}
	}
}

func (r *integrationRow) scenario(memory string) *scenario.Case {
	c := &scenario.Case{Name: r.Row, TieBreakSeed: r.TieBreakSeed, Nodes: r.nodes(memory), PodGroups: r.podGroups()}
	for _, of := range r.Pods {
		for _, p := range of.pods() {
			started(20 + len(c.Pods))(p)
			if of.Terminating {
				terminating(p)
				preempted(p)
			}
			c.Pods = append(c.Pods, p)
		}
	}
	for _, of := range r.Queue {
		for _, p := range of.pods() {
			if r.Prefer != "" {
				prefer(p, r.Prefer)
			}
			c.Queue = append(c.Queue, scenario.Pending{Pod: p, Count: 1})
		}
	}
	if r.Budget != nil {
		c.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{budget("budget", 0, &metav1.LabelSelector{MatchLabels: r.Budget})}
	}
	return c
}

func (r *integrationRow) nodes(memory string) (out []*corev1.Node) {
	for _, of := range r.Nodes {
		for name := range strings.FieldsSeq(of.Name) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: of.Labels}}
			n.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU: of.CPU, corev1.ResourcePods: resource.MustParse("32"),
			}
			if amount := cmp.Or(of.Memory, memory); amount != "" {
				n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(amount)
			}
			n.Status.Capacity = n.Status.Allocatable
			out = append(out, n)
		}
	}
	return out
}

func (r *integrationRow) podGroups() (out []*schedulingv1beta1.PodGroup) {
	for _, of := range r.Groups {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: "default"}}
		g.Spec.Priority = &of.Priority
		if of.MinCount > 0 {
			g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: of.MinCount}
		} else {
			g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
		}
		switch of.Disrupts {
		case "all":
			g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		case "single":
			g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
		}
		if of.Topology != "" {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: of.Topology}},
			}
		}
		out = append(out, g)
	}
	return out
}

func (of *integrationPod) pods() []*corev1.Pod {
	var out []*corev1.Pod
	for name := range strings.FieldsSeq(of.Name) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: of.Labels}, Spec: *of.Spec.DeepCopy()}
		p.Spec.NodeName, p.Spec.Priority, p.Status.NominatedNodeName = of.Node, &of.Priority, of.NominatedTo
		if of.Group != "" {
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &of.Group}
		}
		requests := corev1.ResourceList{}
		if of.CPU != nil {
			requests[corev1.ResourceCPU] = *of.CPU
		}
		if of.Memory != nil {
			requests[corev1.ResourceMemory] = *of.Memory
		}
		p.Spec.Containers = []corev1.Container{{
			Name: "main", Image: "app:v1", Ports: of.Ports, Resources: corev1.ResourceRequirements{Requests: requests},
		}}
		out = append(out, p)
	}
	return out
}

// prefer makes a pod prefer a node to all others.
func prefer(p *corev1.Pod, node string) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
			}},
		}},
	}
}
