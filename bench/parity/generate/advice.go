package generate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// hash is the pod-template-hash of the workload's pods.
const hash = "6d5f7"

// lack is why the pods of a workload have too few nodes.
type lack int

const (
	anyReason lack = iota
	tooFewNodes
	noRoomBeside
	noRoomWithOthers
)

// advised makes a small cluster with a workload that often has too few nodes: its pods must be apart, or need room, or be with others.
func (d *draw) advised() {
	d.c.Advice, d.c.Whole = true, d.chance(0.4)
	of := pick(d, anyReason, tooFewNodes, noRoomBeside, noRoomBeside, noRoomWithOthers, noRoomWithOthers)
	nodes := d.between(1, 4)
	for i := range nodes {
		d.c.Nodes = append(d.c.Nodes, d.plainNode(i))
	}
	d.besideWorkload(of)
	web := d.web(of)
	siblings := d.between(0, nodes)
	if of == noRoomWithOthers && d.chance(0.7) {
		siblings = 0
	}
	for i := range siblings {
		p := web.DeepCopy()
		p.Name, p.Spec.NodeName = fmt.Sprint("web-", hash, "-on", i), d.c.Nodes[(i+d.IntN(2))%nodes].Name
		d.c.Pods = append(d.c.Pods, p)
	}
	for i := range d.between(1, 3) {
		p := web.DeepCopy()
		p.Name = fmt.Sprint("web-", hash, "-", i)
		d.c.Queue = append(d.c.Queue, scenario.Pending{Pod: p, Count: 1})
	}
	if d.chance(0.2) {
		p := d.plainPod(9)
		p.Spec.NodeName = ""
		at := d.IntN(len(d.c.Queue)) + 1 // the workload's pod is first
		d.c.Queue = slices.Insert(d.c.Queue, at, scenario.Pending{Pod: p, Count: 1})
	}
	for i := range d.between(0, 2) {
		d.c.PriorityClasses = append(d.c.PriorityClasses, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("class-", i)}, Value: int32(d.between(0, 4)),
		})
	}
}

// besideWorkload puts other pods on the nodes: few, or as many as fill them, or some that the workload's pods must be with.
func (d *draw) besideWorkload(of lack) {
	switch of {
	case tooFewNodes:
		for i := range d.between(0, 1) {
			d.c.Pods = append(d.c.Pods, d.plainPod(i))
		}
	case noRoomBeside:
		for i, n := range d.c.Nodes {
			p := d.plainPod(i)
			p.Spec.NodeName, p.Spec.Priority = n.Name, ptr(int32(d.between(1, 2)))
			p.Spec.Containers = []corev1.Container{container(pick(d, n.Status.Allocatable.Cpu().String(), "1", "2"))}
			d.c.Pods = append(d.c.Pods, p)
		}
	case noRoomWithOthers:
		node := pick(d, d.c.Nodes...)
		node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(pick(d, "1", "2"))
		for i := range pick(d, 1, 1, 2) {
			p := d.plainPod(i)
			p.Labels["app"], p.Spec.NodeName, p.OwnerReferences = "db", node.Name, owner("StatefulSet", "db")
			p.Spec.Containers = []corev1.Container{container(pick(d, "500m", "1"))}
			d.c.Pods = append(d.c.Pods, p)
		}
	default:
		for i := range d.between(0, 5) {
			d.c.Pods = append(d.c.Pods, d.plainPod(i))
		}
	}
}

func (d *draw) plainNode(i int) *corev1.Node {
	name := fmt.Sprint("n", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint("z", d.IntN(2)),
	}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(fmt.Sprint(d.between(1, 4))), corev1.ResourcePods: resource.MustParse(pick(d, "2", "10", "10")),
	}
	switch {
	case d.chance(0.1):
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	case d.chance(0.1):
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

// plainPod is a pod on a node, of one of several workloads or of none.
func (d *draw) plainPod(i int) *corev1.Pod {
	app := pick(d, "db", "db", "cache")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(app, "-", i), Labels: map[string]string{"app": app}}}
	p.Spec.NodeName, p.Spec.Priority = pick(d, d.c.Nodes...).Name, ptr(int32(d.IntN(3)))
	p.Spec.Containers = []corev1.Container{container(pick(d, "0", "500m", "1", "2"))}
	switch {
	case d.chance(0.5):
		p.OwnerReferences = owner("StatefulSet", app)
	case d.chance(0.4):
		p.OwnerReferences = owner("ReplicaSet", app)
	case d.chance(0.3):
		p.OwnerReferences = owner("DaemonSet", app)
	}
	if d.chance(0.15) {
		requiredTerms(p).apart(corev1.LabelHostname, pick(d, "web", "db"))
	}
	if d.chance(0.1) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: fmt.Sprint("z", d.IntN(2))}
	}
	if p.OwnerReferences != nil && d.chance(0.1) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

// web is a pod of the workload.
func (d *draw) web(of lack) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": "web"}}}
	switch x := d.Float64(); {
	case x < 0.55:
		p.OwnerReferences, p.Labels["pod-template-hash"] = owner("ReplicaSet", "web-"+hash), hash // of a Deployment
	case x < 0.7:
		p.OwnerReferences = owner("ReplicaSet", "web")
	case x < 0.85:
		p.OwnerReferences = owner("StatefulSet", "web")
	case x < 0.95:
		p.OwnerReferences = owner("Job", "web")
	}
	p.Spec.Priority = ptr(int32(d.IntN(2)))
	p.Spec.Containers = []corev1.Container{container(pick(d, "0", "500m", "1", "2", "3"))}
	if d.chance(0.1) {
		p.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
	}
	key := func() string { return pick(d, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelTopologyZone) }
	apart := 0.3
	switch of {
	case tooFewNodes:
		apart = 1
		p.Spec.Containers = []corev1.Container{container(pick(d, "0", "0", "500m"))}
	case noRoomBeside:
		apart = 0.2
		p.Spec.Containers = []corev1.Container{container(pick(d, "1", "1", "2", "3"))}
		p.Spec.Priority = ptr[int32](0)
	case noRoomWithOthers:
		requiredTerms(p).with(key(), "db")
		p.Spec.Containers = []corev1.Container{container(pick(d, "1", "2"))}
		apart = 0.1
	default:
		if d.chance(0.3) {
			requiredTerms(p).with(key(), "db")
		}
	}
	if d.chance(apart) {
		for range pick(d, 1, 1, 1, 2) {
			requiredTerms(p).apart(key(), pick(d, "web", "web", "web", "db"))
		}
	}
	if d.chance(0.15) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects("web"),
		}}
	}
	return p
}

func owner(kind, name string) []metav1.OwnerReference {
	version := "apps/v1"
	if kind == "Job" {
		version = "batch/v1"
	}
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: "uid", Controller: ptr(true)}}
}

func container(cpu string) corev1.Container {
	c := corev1.Container{Name: "main", Image: "image"}
	if cpu != "0" {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return c
}

func selects(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// terms adds required terms to a pod.
type terms struct{ *corev1.Affinity }

func requiredTerms(p *corev1.Pod) terms { return terms{affinityOf(p)} }

func (t terms) with(key, app string) {
	if t.PodAffinity == nil {
		t.PodAffinity = &corev1.PodAffinity{}
	}
	all := &t.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*all = append(*all, corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selects(app)})
}

func (t terms) apart(key, app string) {
	if t.PodAntiAffinity == nil {
		t.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	all := &t.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*all = append(*all, corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selects(app)})
}
