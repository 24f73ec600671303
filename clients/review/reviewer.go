package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options configure a Reviewer.
type Options struct {
	// Profile is the scheduler's profile, nil for kube-scheduler's default.
	Profile *stowagev1.Profile
	// PodsUnknown: the snapshot lacks some pods, so a rule that none of its pods matches is not a finding.
	PodsUnknown bool
}

// Reviewer reviews the pods and the PodDisruptionBudgets of a snapshot.
type Reviewer struct {
	options    Options
	nodes      []*corev1.Node
	labels     map[string]map[string]int // nodes by label key and value
	pods       map[string]*podIndex      // by namespace
	on         map[string][]*podSet      // of the pods of a node, by its name
	namespaces map[string]labels.Set
	whole      bool // namespaces are the complete list of a cluster
	budgets    []kube.Budget
}

// New returns a Reviewer of a snapshot, which must have the names of its pods.
func New(s *kube.Snapshot, o Options) (*Reviewer, error) {
	r := &Reviewer{
		options: o, nodes: s.NodeObjects(), labels: map[string]map[string]int{}, pods: map[string]*podIndex{},
		on: map[string][]*podSet{}, namespaces: map[string]labels.Set{}, budgets: s.Budgets,
	}
	r.options.PodsUnknown = o.PodsUnknown || s.LeftOut > 0 || len(s.Incomplete) > 0 && !s.Live || len(s.Misreads) > 0
	for _, n := range r.nodes {
		for key, value := range n.Labels {
			if r.labels[key] == nil {
				r.labels[key] = map[string]int{}
			}
			r.labels[key][value]++
		}
	}
	for _, n := range s.Cluster.Namespaces {
		r.namespaces[n.Name] = n.Labels
	}
	r.whole = true
	// Every cluster has these, but few manifests.
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		_, there := r.namespaces[name]
		r.whole = r.whole && there
	}
	return r, r.gather(s)
}

// gather collects the labels of all pods. Terminating pods do not count.
func (r *Reviewer) gather(s *kube.Snapshot) error {
	add := func(p *corev1.Pod, count int) *podSet {
		namespace := cmp.Or(p.Namespace, metav1.NamespaceDefault)
		if r.pods[namespace] == nil {
			r.pods[namespace] = &podIndex{byAll: map[string]*podSet{}, byLabel: map[string][]*podSet{}}
		}
		return r.pods[namespace].add(p.Labels, count)
	}
	equal := map[uint32]*podSet{} // by template
	for i := range s.Cluster.Nodes {
		pods, err := s.PodsOn(i)
		if err != nil {
			return err
		}
		for p, converted := range pods {
			template, count := converted.GetTemplateIndex(), 1
			if p.DeletionTimestamp != nil {
				count = 0 // it leaves, and no constraint counts it
			}
			set := equal[template]
			switch {
			case len(converted.Labels) > 0:
				set = add(p, count)
			case set != nil:
				set.count += count
			default:
				set = add(p, count)
				equal[template] = set
			}
			if count > 0 {
				name := s.Cluster.Nodes[i].Name
				r.on[name] = append(r.on[name], set)
			}
		}
	}
	for p, count := range s.PendingPods() {
		add(p, count)
	}
	for i := range s.Scalables {
		add(s.Scalables[i].Example(), 0)
	}
	return nil
}

// Pods returns the findings about the spec of pods.
func (r *Reviewer) Pods(g *kube.PodSource) []Finding {
	p := &podReview{Reviewer: r, of: g}
	if len(r.nodes) > 0 && !r.disabled(stowagev1.Plugin_PLUGIN_NODE_AFFINITY) {
		p.nodeRules()
	}
	if len(r.nodes) > 0 && !r.disabled(stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT) {
		p.requests()
	}
	if !r.disabled(stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD) {
		p.spread()
	}
	if !r.disabled(stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY) {
		p.terms()
	}
	p.weights()
	return p.found
}

// All returns the findings about the specs of pods. Equal findings about templates of one object count once.
func (r *Reviewer) All(groups []kube.PodSource) []Finding {
	type same struct {
		Object
		field, message string
	}
	var out []Finding
	index := map[same]int{}
	for i := range groups {
		for _, f := range r.Pods(&groups[i]) {
			key := same{f.Object, f.Field, f.Message}
			if at, known := index[key]; known {
				out[at].Pods += f.Pods
				continue
			}
			index[key] = len(out)
			out = append(out, f)
		}
	}
	return out
}

// podReview is the review of pods with one spec.
type podReview struct {
	*Reviewer
	of    *kube.PodSource
	found []Finding
}

// find adds a finding.
func (p *podReview) find(s Severity, rule Rule, at *field.Path, format string, args ...any) {
	p.found = append(p.found, Finding{
		Severity: s, Rule: rule, Object: Object(p.of.Origin), At: p.of.At, Field: at.String(), Message: fmt.Sprintf(format, args...),
		Pods: p.of.Count,
	})
}

// list formats values, only the first ones if there are many.
func list(values []string) string {
	const most = 6
	if len(values) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:most-1], ", "), len(values)-most+1)
	}
	return strings.Join(values, ", ")
}

// valuesOf lists the values that nodes have for a label.
func (r *Reviewer) valuesOf(key string) string {
	return list(slices.Sorted(maps.Keys(r.labels[key])))
}
