package snapshots_test

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// drawn draws valid clusters, deltas and requests from few names, so that selectors match often.
type drawn struct {
	t                  *rapid.T
	templates, classes int // of the current cluster
	nodeless           decode.Nodeless
}

func (d *drawn) below(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "") }

func (d *drawn) one(in int) bool { return d.below(in) == 0 }

func (d *drawn) text(of string, n int) string { return fmt.Sprint(of, d.below(n)) }

func several[T any](d *drawn, most int, draw func() T) (list []T) {
	for range d.below(most + 1) {
		list = append(list, draw())
	}
	return list
}

func (d *drawn) labels() map[string]string {
	labels := make(map[string]string)
	for range d.below(3) {
		labels[d.text("key-", 3)] = d.text("value-", 2)
	}
	return labels
}

func (d *drawn) selector() *stowagev1.LabelSelector {
	s := &stowagev1.LabelSelector{MatchLabels: d.labels()}
	if d.one(4) {
		s.MatchExpressions = []*stowagev1.LabelSelectorRequirement{{
			Key: d.text("key-", 3), Operator: stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_EXISTS,
		}}
	}
	return s
}

func (d *drawn) resources(ofNode bool) *stowagev1.Resources {
	r := &stowagev1.Resources{}
	if d.one(2) {
		r.CpuMillis = proto.Int64(int64(500 * d.below(8)))
	}
	if d.one(4) {
		r.Scalars = map[string]int64{d.text("example.com/gpu-", 3): int64(d.below(4))}
	}
	if ofNode {
		r.Pods = proto.Int64(int64(3 + d.below(20)))
	}
	return r
}

func (d *drawn) image() *stowagev1.ContainerImage {
	return &stowagev1.ContainerImage{
		Names: several(d, 2, func() string { return d.text("image-", 4) + ":v1" }), SizeBytes: int64(d.below(4)) << 28,
	}
}

func (d *drawn) taint() *stowagev1.Taint {
	return &stowagev1.Taint{Key: d.text("taint-", 2), Effect: stowagev1.TaintEffect(1 + d.below(3))}
}

func (d *drawn) template() *stowagev1.PodTemplate {
	t := &stowagev1.PodTemplate{Namespace: d.text("ns-", 3), Labels: d.labels(), Spec: &stowagev1.PodSpec{
		Priority: int32(d.below(3)), PreemptionPolicy: stowagev1.PreemptionPolicy(d.below(3)),
	}}
	if d.one(3) {
		t.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: d.text("set-", 2)}
	}
	container := &stowagev1.Container{Image: d.text("image-", 4) + ":v1", Requests: d.resources(false)}
	if d.one(4) {
		container.HostPorts = []*stowagev1.HostPort{{Port: int32(80 + d.below(2))}}
	}
	t.Spec.Containers = []*stowagev1.Container{container}
	if d.one(4) {
		t.Spec.NodeSelector = d.labels()
	}
	if d.one(3) {
		t.Spec.Tolerations = []*stowagev1.Toleration{{
			Key: d.text("taint-", 2), Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS,
		}}
	}
	term := &stowagev1.PodAffinityTerm{LabelSelector: d.selector(), TopologyKey: d.text("key-", 3)}
	if d.one(3) {
		term.NamespaceSelector = d.selector()
	}
	if d.one(4) {
		term.MatchLabelKeys = []string{"own"}
	}
	required := []*stowagev1.PodAffinityTerm{term}
	preferred := []*stowagev1.WeightedPodAffinityTerm{{Weight: int32(1 + d.below(3)), Term: term}}
	switch d.below(6) {
	case 0:
		t.Spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{Required: required}}
	case 1:
		t.Spec.Affinity = &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{Required: required}}
	case 2:
		t.Spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{Preferred: preferred}}
	case 3:
		t.Spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew: int32(1 + d.below(2)), TopologyKey: term.TopologyKey, LabelSelector: term.LabelSelector,
			WhenUnsatisfiable: stowagev1.UnsatisfiableAction(1 + d.below(2)),
		}}
	}
	return t
}

func (d *drawn) class() *stowagev1.NodeClass {
	c := &stowagev1.NodeClass{
		Labels: d.labels(), Allocatable: d.resources(true), Taints: several(d, 1, d.taint), Images: several(d, 2, d.image),
	}
	if d.one(2) {
		c.NameLabelKeys = []string{"key-0"}
	}
	return c
}

func (d *drawn) pods() (counts []*stowagev1.PodCount, pods []*stowagev1.Pod) {
	counts = several(d, 2, func() *stowagev1.PodCount {
		return &stowagev1.PodCount{
			TemplateIndex: uint32(d.below(d.templates)), Count: uint32(1 + d.below(3)), Terminating: d.one(5),
		}
	})
	pods = several(d, 2, func() *stowagev1.Pod {
		p := &stowagev1.Pod{
			Name: d.text("pod-", 50), Terminating: d.one(5),
			Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(d.below(d.templates))},
		}
		if d.one(3) {
			p.Source = &stowagev1.Pod_Template{Template: d.template()}
		}
		if d.one(3) {
			p.Labels = map[string]string{"own": d.text("", 2)}
		}
		if d.one(2) {
			p.StartTime = &timestamppb.Timestamp{Seconds: int64(1 + d.below(5))}
		}
		p.Preempted = p.Terminating && d.one(2)
		return p
	})
	return counts, pods
}

func (d *drawn) node(name string) *stowagev1.Node {
	n := &stowagev1.Node{
		Name: name, Labels: d.labels(), Taints: several(d, 1, d.taint), Unschedulable: d.one(8),
		Images: several(d, 2, d.image),
	}
	if d.one(2) {
		n.Allocatable = d.resources(true)
	}
	if d.one(2) {
		n.ClassIndex = proto.Uint32(uint32(d.below(d.classes)))
	}
	n.PodCounts, n.Pods = d.pods()
	return n
}

func (d *drawn) namespace(name string) *stowagev1.Namespace {
	return &stowagev1.Namespace{Name: name, Labels: d.labels()}
}

func (d *drawn) workload() *stowagev1.WorkloadSelector {
	kinds := []stowagev1.WorkloadKind{
		stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET,
	}
	w := &stowagev1.WorkloadSelector{
		Kind: kinds[d.below(2)], Namespace: d.text("ns-", 3), Name: d.text("set-", 2), Selector: d.selector(),
	}
	if w.Kind == stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE {
		w.Selector.MatchExpressions = nil
	}
	return w
}

func (d *drawn) budget() *stowagev1.PodDisruptionBudget {
	return &stowagev1.PodDisruptionBudget{
		Namespace: d.text("ns-", 3), Name: d.text("budget-", 2), Selector: d.selector(), DisruptionsAllowed: int32(d.below(3)),
		DisruptedPods: several(d, 2, func() string { return d.text("pod-", 50) }),
	}
}

func budgetKey(p *stowagev1.PodDisruptionBudget) string { return p.Namespace + "/" + p.Name }

func workloadKey(w *stowagev1.WorkloadSelector) string {
	return fmt.Sprint(w.Kind, w.Namespace, "/", w.Name)
}

// unique keeps the first item of each key.
func unique[T any](list []T, key func(T) string) []T {
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(x T) bool {
		k := key(x)
		defer func() { seen[k] = true }()
		return seen[k]
	})
}

func (d *drawn) cluster() *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for range 4 {
		c.PodTemplates = append(c.PodTemplates, d.template())
	}
	for range 2 {
		c.NodeClasses = append(c.NodeClasses, d.class())
	}
	d.templates, d.classes = 4, 2
	for i := range 3 {
		c.Namespaces = append(c.Namespaces, d.namespace(fmt.Sprint("ns-", i)))
	}
	c.WorkloadSelectors = unique(several(d, 3, d.workload), workloadKey)
	c.PodDisruptionBudgets = unique(several(d, 3, d.budget), budgetKey)
	for i := range 6 {
		c.Nodes = append(c.Nodes, d.node(fmt.Sprint("node-", i)))
	}
	return c
}

// delta draws a delta for a cluster. It may be invalid.
func (d *drawn) delta(c *stowagev1.Cluster) *stowagev1.ClusterDelta {
	out := &stowagev1.ClusterDelta{}
	d.templates, d.classes = len(c.PodTemplates), len(c.NodeClasses)
	if d.one(4) {
		out.PodTemplates = []*stowagev1.IndexedPodTemplate{{Index: uint32(d.below(d.templates + 1)), Template: d.template()}}
	}
	if d.one(4) {
		out.NodeClasses = []*stowagev1.IndexedNodeClass{{Index: uint32(d.below(d.classes + 1)), NodeClass: d.class()}}
	}
	for _, n := range c.Nodes {
		switch d.below(10) {
		case 0:
			out.RemovedNodes = append(out.RemovedNodes, n.Name)
		case 1:
			out.Nodes = append(out.Nodes, d.node(n.Name))
		case 2:
			change := &stowagev1.NodePodsDelta{NodeName: n.Name, RemovedPodCounts: n.PodCounts}
			change.PodCounts, change.Pods = d.pods()
			out.NodePods = append(out.NodePods, change)
		case 3:
			same := proto.CloneOf(n) // except its images
			same.Images = several(d, 2, d.image)
			out.Nodes = append(out.Nodes, same)
		}
	}
	if d.one(3) {
		out.Nodes = append(out.Nodes, d.node(d.text("more-", 1000)))
	}
	if d.one(4) {
		out.Namespaces = []*stowagev1.Namespace{d.namespace(d.text("ns-", 3))}
	}
	if d.one(4) {
		out.WorkloadSelectors = []*stowagev1.WorkloadSelector{d.workload()}
	}
	for _, p := range c.PodDisruptionBudgets {
		if d.one(6) {
			out.RemovedPodDisruptionBudgets = append(out.RemovedPodDisruptionBudgets,
				&stowagev1.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		}
	}
	if d.one(4) {
		out.PodDisruptionBudgets = []*stowagev1.PodDisruptionBudget{d.budget()}
	}
	return out
}

func (d *drawn) profile() *stowagev1.Profile {
	switch d.below(6) {
	case 0:
		return &stowagev1.Profile{HardPodAffinityWeight: proto.Int32(int32(d.below(100)))}
	case 1:
		return &stowagev1.Profile{ScoringStrategy: &stowagev1.ScoringStrategy{
			Type: stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_MOST_ALLOCATED,
		}}
	case 2:
		return &stowagev1.Profile{
			IgnoredResources: []string{d.text("example.com/gpu-", 3)}, IgnorePreferredTermsOfExistingPods: d.one(2),
		}
	}
	return nil
}

func (d *drawn) pod() *stowagev1.Pod {
	p := &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(d.below(d.templates))}}
	if d.one(2) {
		p.Source = &stowagev1.Pod_Template{Template: d.template()}
	}
	if d.one(3) {
		p.Labels = map[string]string{"own": d.text("", 2)}
	}
	return p
}

func (d *drawn) candidates(c *stowagev1.Cluster) *stowagev1.CandidateNodes {
	if len(c.Nodes) == 0 || !d.one(4) {
		return nil
	}
	return &stowagev1.CandidateNodes{
		Indexes: []uint32{uint32(d.below(len(c.Nodes)))}, Names: []string{c.Nodes[d.below(len(c.Nodes))].Name},
	}
}
