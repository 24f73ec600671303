// Package variety makes queues of pods in which little repeats, and clusters for them: always the same for the same arguments. The
// clusters are bigcluster's, with labels, resources, namespaces and workloads as each queue needs them.
package variety

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Size is the number of nodes of a cluster, with 30 pods each, and of the pods of a queue.
type Size struct{ Nodes, Pods int }

// Workload is a cluster and a queue for it.
type Workload struct {
	Cluster *stowagev1.Cluster
	Queue   []*stowagev1.PendingPods
	Groups  []*stowagev1.PodGroup
	// Full says that no pod of the queue has a feasible node. Otherwise each has one.
	Full bool
	// Changes requests the changes that make each unplaced pod feasible.
	Changes bool
}

// Kind is a kind of workload.
type Kind struct {
	Name string
	Make func(Size) *Workload
}

// Kinds are all kinds.
var Kinds = []Kind{
	{"unique", unique},
	{"unique-full", func(s Size) *Workload { return full(unique(s)) }},
	{"rules", rules},
	{"namespaces", namespaces},
	{"resources", resources},
	{"indexes", indexes},
	{"deployments", deployments},
	{"preferred", preferred},
	{"templates", templates},
	{"daemons", daemons},
	{"daemons-full", func(s Size) *Workload { return full(daemons(s)) }},
	{"services", services},
	{"burst", burst},
	{"gangs", gangs},
}

// Remedies is a queue of pods without a feasible node, each of a template of its own, for which changes are requested.
func Remedies(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes), Changes: true}
	w.share(s.Pods, s.Pods, func(i int) *stowagev1.PodTemplate { return bigcluster.Template(bigcluster.Templates + i) }, func(pod int) int { return pod })
	return full(w)
}

// Joint is one group that is placed jointly, of pods of 50 applications, which keep apart by hostname within each.
func Joint(s Size) *Workload {
	const apps, group = 50, "joint"
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	w.share(s.Pods, apps, func(i int) *stowagev1.PodTemplate {
		p := pod(fmt.Sprint("joint-", i), 100+50*(i%10))
		apart(p).Required = append(apart(p).Required, term(hostname, selects("app", p.Labels["app"])))
		return p
	}, func(pod int) int { return pod % apps })
	for _, entry := range w.Queue {
		entry.PodGroup = group
	}
	w.Groups = []*stowagev1.PodGroup{{Name: group, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}}
	return w
}

// add appends a pod to the queue.
func (w *Workload) add(pod *stowagev1.PodTemplate) {
	w.Queue = append(w.Queue, &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: pod}}})
}

// share lets pods of the queue share the templates of the cluster, by the index that the last function returns for each pod.
func (w *Workload) share(pods, templates int, template func(i int) *stowagev1.PodTemplate, of func(pod int) int) {
	first := len(w.Cluster.PodTemplates)
	for i := range templates {
		w.Cluster.PodTemplates = append(w.Cluster.PodTemplates, template(i))
	}
	for i := range pods {
		index := uint32(first + of(i))
		w.Queue = append(w.Queue, &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: index}}})
	}
}

// shuffled returns a template for each pod: every template as often, in a random order.
func shuffled(pods, templates int) func(pod int) int {
	order := rand.New(rand.NewPCG(1, uint64(pods))).Perm(pods)
	return func(pod int) int { return order[pod] % templates }
}

// unique is pods that each have labels and requests of their own, and no constraints.
func unique(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	for i := range s.Pods {
		p := pod(fmt.Sprint("unique-", i), 100+i%977)
		p.Spec.Containers[0].Requests.MemoryBytes = new(int64(256<<20 + i<<10))
		w.add(p)
	}
	return w
}

// full leaves less than 100 millicores of each node.
func full(w *Workload) *Workload {
	w.Full = true
	for i, n := range w.Cluster.Nodes {
		used := int64(0)
		for _, c := range n.PodCounts {
			used += int64(c.Count) * w.Cluster.PodTemplates[c.TemplateIndex].Spec.Containers[0].Requests.GetCpuMillis()
		}
		n.Allocatable.CpuMillis = new(used + int64(i%100))
	}
	return w
}

// rules is pods of 100 templates with ten constraints each.
func rules(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	w.share(s.Pods, 100, func(i int) *stowagev1.PodTemplate {
		p := pod(fmt.Sprint("rules-", i), 100+50*(i%10))
		own, tier := selects("app", p.Labels["app"]), selects("tier", fmt.Sprint("tier-", i%5))
		p.Labels["tier"] = tier.MatchLabels["tier"]
		spread(p, zone, 5, hard, own)
		spread(p, hostname, 3, soft, own)
		spread(p, rack, 2, soft, own)
		spread(p, instanceType, 3, soft, tier)
		prefer(together(p), 50, zone, own)
		prefer(apart(p), 100, hostname, own)
		prefer(apart(p), 30, rack, tier)
		prefer(apart(p), 20, "example.com/pool", own)
		apart(p).Required = append(apart(p).Required, term(zone, selects("app", "elsewhere")))
		preferNodes(p, "example.com/storage", "ssd")
		return p
	}, shuffled(s.Pods, 100))
	return w
}

const allNamespaces = 300

// namespaces is pods in 300 namespaces whose terms select the pods of many of the namespaces by label.
func namespaces(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	name := func(i int) string { return fmt.Sprint("team-", i%allNamespaces) }
	for i := range allNamespaces {
		w.Cluster.Namespaces = append(w.Cluster.Namespaces, &stowagev1.Namespace{
			Name: name(i), Labels: map[string]string{"kubernetes.io/metadata.name": name(i), "stage": fmt.Sprint("stage-", i%3)},
		})
	}
	for i, t := range w.Cluster.PodTemplates {
		t.Namespace = name(i)
	}
	for i := range s.Pods {
		p := pod(fmt.Sprint("shared-", i/30), 100+50*(i%10))
		p.Namespace = name(i)
		for _, in := range []*stowagev1.PodAffinity{apart(p), together(p)} {
			in.Preferred = append(in.Preferred, &stowagev1.WeightedPodAffinityTerm{Weight: 10, Term: &stowagev1.PodAffinityTerm{
				TopologyKey: zone, LabelSelector: selects("app", p.Labels["app"]), NamespaceSelector: &stowagev1.LabelSelector{},
			}})
		}
		apart(p).Required = append(apart(p).Required, &stowagev1.PodAffinityTerm{
			TopologyKey: hostname, LabelSelector: selects("app", p.Labels["app"]), NamespaceSelector: selects("stage", fmt.Sprint("stage-", i%3)),
		})
		w.add(p)
	}
	return w
}

// resources is pods that each request an extended resource of their own, which few nodes have.
func resources(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	const perNode = 4
	name := func(i int) string { return fmt.Sprintf("example.com/device-%d", i%s.Pods) }
	for i, n := range w.Cluster.Nodes {
		n.Allocatable.Scalars = map[string]int64{}
		for j := range perNode {
			n.Allocatable.Scalars[name(i*perNode+j)] = 1
		}
		n.Taints = nil
	}
	for i := range s.Pods {
		p := pod("device", 100)
		p.Spec.Containers[0].Requests.Scalars = map[string]int64{name(i): 1}
		w.add(p)
	}
	return w
}

// indexes is pods of StatefulSets of 100 pods, which prefer the zones of the pods of the same index of other sets.
func indexes(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	const index, replicas = "apps.kubernetes.io/pod-index", 100
	for i := range s.Pods {
		set := fmt.Sprint("set-", i/replicas)
		p := pod(set, 100)
		p.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "StatefulSet", Name: set}
		p.Labels[index] = fmt.Sprint(i % replicas)
		p.Labels["statefulset.kubernetes.io/pod-name"] = fmt.Sprint(set, "-", i%replicas)
		p.Labels["part-of"] = "store"
		near := term(zone, selects("part-of", "store"))
		near.MatchLabelKeys = []string{index}
		together(p).Preferred = append(together(p).Preferred, &stowagev1.WeightedPodAffinityTerm{Weight: 100, Term: near})
		w.add(p)
	}
	return w
}

// deployments is Deployments of 20 pods, one after the other, each with a Service: kube-scheduler spreads their pods by default.
func deployments(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	const replicas = 20
	w.share(s.Pods, s.Pods/replicas, w.served("deployment"), func(pod int) int { return pod / replicas })
	return w
}

// services is pods of as many Services as a fifth of the pods, in a random order.
func services(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	w.share(s.Pods, s.Pods/5, w.served("service"), shuffled(s.Pods, s.Pods/5))
	return w
}

// served returns a function that makes pods of a Deployment with a Service.
func (w *Workload) served(name string) func(i int) *stowagev1.PodTemplate {
	return func(i int) *stowagev1.PodTemplate {
		p := pod(fmt.Sprint(name, "-", i), 100+50*(i%10))
		p.Labels["pod-template-hash"] = fmt.Sprintf("%09x", 0x123456789+i)
		p.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: p.Labels["app"] + "-" + p.Labels["pod-template-hash"]}
		w.Cluster.WorkloadSelectors = append(w.Cluster.WorkloadSelectors, &stowagev1.WorkloadSelector{
			Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, Namespace: p.Namespace, Name: p.Labels["app"], Selector: selects("app", p.Labels["app"]),
		})
		return p
	}
}

// preferred is pods of 100 templates with preferred terms of each kind.
func preferred(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	w.share(s.Pods, 100, func(i int) *stowagev1.PodTemplate {
		p := pod(fmt.Sprint("preferred-", i), 100+50*(i%10))
		own := selects("app", p.Labels["app"])
		prefer(together(p), 50, zone, own)
		prefer(apart(p), 100, hostname, own)
		preferNodes(p, "example.com/storage", "ssd")
		return p
	}, shuffled(s.Pods, 100))
	return w
}

// templates is pods of as many templates as a fifth of the pods, with the constraints of bigcluster's templates.
func templates(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	w.share(s.Pods, s.Pods/5, func(i int) *stowagev1.PodTemplate { return bigcluster.Template(bigcluster.Templates + i) }, shuffled(s.Pods, s.Pods/5))
	return w
}

// burst is pods of the Deployments that the cluster has, as when the HorizontalPodAutoscaler grows all of them together.
func burst(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	of := shuffled(s.Pods, bigcluster.Templates)
	for i, t := range w.Cluster.PodTemplates {
		name := t.Labels["app"]
		t.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: name}
		w.Cluster.WorkloadSelectors = append(w.Cluster.WorkloadSelectors, &stowagev1.WorkloadSelector{
			Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, Namespace: t.Namespace, Name: name, Selector: selects("app", name),
		})
		if t.Spec.Affinity == nil {
			prefer(apart(w.Cluster.PodTemplates[i]), 100, hostname, selects("app", name))
		}
	}
	for i := range s.Pods {
		w.Queue = append(w.Queue, &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(of(i))}}})
	}
	return w
}

// daemons is the pods of DaemonSets, each for its node.
func daemons(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	for i := range s.Pods {
		p := pod(fmt.Sprint("daemon-", i/s.Nodes), 100)
		p.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "DaemonSet", Name: p.Labels["app"]}
		p.Spec.Affinity = &stowagev1.Affinity{NodeAffinity: &stowagev1.NodeAffinity{Required: &stowagev1.NodeSelector{
			Terms: []*stowagev1.NodeSelectorTerm{{MatchFields: []*stowagev1.NodeSelectorRequirement{{
				Key: "metadata.name", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{w.Cluster.Nodes[i%s.Nodes].Name},
			}}}},
		}}}
		p.Spec.Tolerations = []*stowagev1.Toleration{{Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS}}
		w.add(p)
	}
	return w
}

// gangs is groups of 4 pods that are placed in one rack.
func gangs(s Size) *Workload {
	w := &Workload{Cluster: bigcluster.New(s.Nodes)}
	const members = 4
	w.share(s.Pods, 100, func(i int) *stowagev1.PodTemplate {
		return pod(fmt.Sprint("gang-", i), 100+50*(i%10))
	}, func(pod int) int { return pod / members % 100 })
	for i, entry := range w.Queue {
		entry.PodGroup = fmt.Sprint("gang-", i/members)
		if i%members == 0 {
			w.Groups = append(w.Groups, &stowagev1.PodGroup{
				Name: entry.PodGroup, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER,
				Topology: &stowagev1.PodGroupTopology{Keys: []string{rack}},
			})
		}
	}
	return w
}
