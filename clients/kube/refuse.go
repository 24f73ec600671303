package kube

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Violation is a field of a request that the server rejects, and why.
type Violation struct{ Field, Description string }

// part is a part of a snapshot that a request refers to by its index. pod is the index of a node's pod in pods, "pods" or
// "nominated_pods"; -1 for the node.
type part struct {
	list, pods string
	index, pod int
}

var partPath = regexp.MustCompile(
	`^(?:context\.cluster\.|scenarios\[\d+\]\.)?(nodes|node_classes|pod_templates|queue|pod_groups|` +
		`namespaces|workload_selectors|pod_disruption_budgets|` +
		`storage_classes|csi_drivers|csi_storage_capacities|persistent_volumes|persistent_volume_claims|` +
		`device_classes|resource_slices|resource_claims)\[(\d+)\](?:\.(pods|nominated_pods)\[(\d+)\])?\.?(.*)$`)

var refusedInOrder = []string{
	"queue", "pod_groups", "nodes", "node_classes", "pod_templates", "namespaces", "workload_selectors", "pod_disruption_budgets",
	"storage_classes", "csi_drivers", "csi_storage_capacities", "persistent_volumes", "persistent_volume_claims",
	"device_classes", "resource_slices", "resource_claims",
}

// refusal is the violations of a part: the paths in it, and why.
type refusal struct {
	part
	fields, reasons []string
}

// Refuse reduces the parts of the snapshot that the server rejects in a request with it, and reports whether it could, so
// that a request without them may succeed. The objects become Misreads: pending pods wait, a node rejects pods, a pod on a
// node keeps what the server accepts of it, and other objects are left out. A pod on a node from which only fields are left
// out that kube-scheduler does not read of such pods is no Misread.
func (s *Snapshot) Refuse(violations []Violation) bool {
	var all []*refusal
	for _, v := range violations {
		found := partPath.FindStringSubmatch(v.Field)
		if found == nil || found[1] == "pod_groups" && !strings.HasPrefix(v.Field, "context.cluster.") {
			continue // a group that the request adds
		}
		p := part{list: found[1], pod: -1}
		p.index, _ = strconv.Atoi(found[2])
		if found[3] != "" {
			p.pods = found[3]
			p.pod, _ = strconv.Atoi(found[4])
		}
		i := slices.IndexFunc(all, func(r *refusal) bool { return r.part == p })
		if i < 0 {
			i = len(all)
			all = append(all, &refusal{part: p})
		}
		all[i].fields, all[i].reasons = append(all[i].fields, found[5]), append(all[i].reasons, v.Description)
	}
	// A template takes entries out of the queue, and a part that is left out moves those behind it.
	slices.SortStableFunc(all, func(a, b *refusal) int {
		back := cmp.Or(b.index-a.index, b.pod-a.pod)
		if a.list == "pod_templates" {
			back = -back
		}
		return cmp.Or(slices.Index(refusedInOrder, a.list)-slices.Index(refusedInOrder, b.list), back)
	})
	done := false
	for _, r := range all {
		done = s.refuse(r) || done
	}
	s.regroup()
	return done
}

func (s *Snapshot) refuse(r *refusal) bool {
	c := s.Cluster
	switch {
	case r.list == "pod_templates" && r.index < len(c.PodTemplates):
		s.refuseTemplate(r)
	case r.list == "nodes" && r.index < len(c.Nodes) && r.pod >= 0:
		return s.refusePod(r)
	case r.list == "nodes" && r.index < len(c.Nodes):
		s.refuseNode(r.index, c.Nodes[r.index], r)
	case r.list == "node_classes" && r.index < len(c.NodeClasses):
		for i, n := range slices.Backward(c.Nodes) {
			if n.ClassIndex != nil && int(n.GetClassIndex()) == r.index {
				s.refuseNode(i, c.NodeClasses[r.index], r)
			}
		}
		c.NodeClasses[r.index] = &stowagev1.NodeClass{}
	case r.list == "queue" && r.index < len(s.Queue):
		e := s.Queue[r.index]
		s.wait(e, s.misread(e.Pods, true, r))
	case r.list == "pod_groups" && r.index < len(c.PodGroups):
		s.refuseGroup(r)
	default:
		return s.refuseItem(r)
	}
	return true
}

// refuseItem leaves out an item of a list that is no part of others.
func (s *Snapshot) refuseItem(r *refusal) bool {
	c := s.Cluster
	switch r.list {
	case "namespaces":
		return leaveOut(s, &c.Namespaces, r)
	case "workload_selectors":
		return leaveOut(s, &c.WorkloadSelectors, r)
	case "pod_disruption_budgets":
		return leaveOut(s, &c.PodDisruptionBudgets, r)
	case "storage_classes":
		return leaveOut(s, &c.StorageClasses, r)
	case "csi_drivers":
		return leaveOut(s, &c.CsiDrivers, r)
	case "csi_storage_capacities":
		return leaveOut(s, &c.CsiStorageCapacities, r)
	case "persistent_volumes":
		return leaveOut(s, &c.PersistentVolumes, r)
	case "persistent_volume_claims":
		return leaveOut(s, &c.PersistentVolumeClaims, r)
	case "device_classes":
		return leaveOut(s, &c.DeviceClasses, r)
	case "resource_slices":
		return leaveOut(s, &c.ResourceSlices, r)
	case "resource_claims":
		return leaveOut(s, &c.ResourceClaims, r)
	}
	return false
}

func leaveOut[M proto.Message](s *Snapshot, list *[]M, r *refusal) bool {
	if r.index >= len(*list) {
		return false
	}
	_ = s.misread((*list)[r.index], false, r)
	*list = slices.Delete(*list, r.index, r.index+1)
	return true
}

// misread records that a message is rejected.
func (s *Snapshot) misread(origin proto.Message, ownPods bool, r *refusal) *Misread {
	return s.misreadIn(origin, origin, ownPods, r)
}

// misreadIn records that a message is rejected that the object of another message uses.
func (s *Snapshot) misreadIn(origin, m proto.Message, ownPods bool, r *refusal) *Misread {
	var errs []error
	for i, path := range r.fields {
		here, _ := s.places.Locate(m, s.places[origin], path)
		errs = append(errs, errors.New(strings.TrimPrefix(here.Path+": "+r.reasons[i], ": ")))
	}
	out := &Misread{At: s.places[origin].At, Err: utilerrors.NewAggregate(errs), OwnPods: ownPods}
	s.Misreads = append(s.Misreads, out)
	return out
}

// refuseTemplate makes the pending pods of a template wait. Those on nodes keep what of it is accepted.
func (s *Snapshot) refuseTemplate(r *refusal) {
	c, i := s.Cluster, uint32(r.index)
	old := c.PodTemplates[i]
	for _, e := range slices.Clone(s.Queue) {
		if e.Pods.Pod.GetTemplateIndex() == i {
			s.wait(e, s.misreadIn(e.Pods.Pod, old, true, r))
		}
	}
	less := convert.OccupyingTemplate(old)
	if proto.Equal(less, old) {
		var unclear, ok bool
		if less, unclear, ok = convert.Less(old, r.fields[0]); !ok {
			less, unclear = &stowagev1.PodTemplate{Namespace: metav1.NamespaceDefault}, true
		}
		for at, n := range c.Nodes {
			there := slices.ContainsFunc(n.PodCounts, func(p *stowagev1.PodCount) bool { return p.TemplateIndex == i })
			for _, p := range slices.Concat(n.Pods, n.NominatedPods) {
				if p.GetTemplateIndex() == i {
					_ = s.misreadIn(p, old, false, r)
					there = true
				}
			}
			if there && unclear {
				s.close(at)
			}
		}
	}
	s.places[less] = s.places[old]
	c.PodTemplates[i] = less
}

// refusePod reduces a pod of a node to its template, then leaves it out. Its node rejects pods.
func (s *Snapshot) refusePod(r *refusal) bool {
	n := s.Cluster.Nodes[r.index]
	pods := &n.Pods
	if r.pods == "nominated_pods" {
		pods = &n.NominatedPods
	}
	if r.pod >= len(*pods) {
		return false
	}
	p := (*pods)[r.pod]
	_ = s.misread(p, false, r)
	if len(p.Labels) > 0 || p.ResourceStatus != nil {
		p.Labels, p.ResourceStatus = nil, nil
	} else {
		*pods = slices.Delete(*pods, r.pod, r.pod+1)
		if on := s.added.residents[r.index]; pods == &n.Pods && r.pod < len(on) {
			s.added.residents[r.index] = slices.Delete(on, r.pod, r.pod+1)
		}
	}
	s.close(r.index)
	return true
}

// refuseNode reduces a node to its name, its labels and its pods, then leaves it out. The violations are in the node or in its
// class.
func (s *Snapshot) refuseNode(i int, in proto.Message, r *refusal) {
	n := s.whole(i)
	_ = s.misreadIn(n, in, false, r)
	less := convert.Bare(n)
	less.Pods, less.PodCounts, less.NominatedPods = n.Pods, n.PodCounts, n.NominatedPods
	if proto.Equal(less, n) {
		s.dropNode(i)
		return
	}
	s.places[less] = s.places[n]
	s.Cluster.Nodes[i] = less
}

// dropNode takes a node out of the snapshot, with its pods.
func (s *Snapshot) dropNode(i int) {
	s.Cluster.Nodes = slices.Delete(s.Cluster.Nodes, i, i+1)
	if i < len(s.added.nodes) {
		s.added.nodes = slices.Delete(s.added.nodes, i, i+1)
	}
	after := map[int][]resident{}
	for at, pods := range s.added.residents {
		switch {
		case at < i:
			after[at] = pods
		case at > i:
			after[at-1] = pods
		}
	}
	s.added.residents = after
}

// close makes a node reject pods.
func (s *Snapshot) close(i int) { convert.Close(s.whole(i)) }

// whole merges a node with its class.
func (s *Snapshot) whole(i int) *stowagev1.Node {
	old := s.Cluster.Nodes[i]
	n, err := compact.WholeNode(s.Cluster, old)
	if err != nil {
		return old // Build states classes that exist
	}
	s.places[n] = s.places[old]
	s.Cluster.Nodes[i] = n
	return n
}

// refuseGroup makes the pods of a group wait.
func (s *Snapshot) refuseGroup(r *refusal) {
	g := s.Cluster.PodGroups[r.index]
	_ = s.misread(g, true, r)
	s.Cluster.PodGroups = slices.Delete(s.Cluster.PodGroups, r.index, r.index+1)
	_, name, _ := strings.Cut(g.Name, "/")
	s.groupWaits(g.Name, missingGroup(name))
}

// regroup makes the pods of groups that have become too small wait.
func (s *Snapshot) regroup() {
	pods := map[string]int{}
	for _, e := range s.Queue {
		pods[e.Pods.PodGroup] += int(e.Pods.PodCount())
	}
	running := map[string]int{}
	for _, on := range s.added.residents {
		for _, r := range on {
			running[r.source.PodGroup()]++
		}
	}
	for _, g := range s.Cluster.PodGroups {
		if n := pods[g.Name]; n > 0 && n+running[g.Name] < int(g.GetMinCount()) {
			s.groupWaits(g.Name, TooFewMembers)
		}
	}
	s.PodGroups = slices.DeleteFunc(s.PodGroups, func(g *stowagev1.PodGroup) bool { return pods[g.Name] == 0 })
}

func (s *Snapshot) groupWaits(name, message string) {
	s.Queue = slices.DeleteFunc(s.Queue, func(e Entry) bool {
		if e.Pods.PodGroup != name {
			return false
		}
		e.Message = message
		s.Waiting = append(s.Waiting, e)
		return true
	})
}

// wait moves an entry from the queue to the waiting ones.
func (s *Snapshot) wait(e Entry, m *Misread) {
	s.Queue = slices.DeleteFunc(s.Queue, func(o Entry) bool { return o.Pods == e.Pods })
	w := waits(e.Origin, e.Pods.PodCount(), m.Err, m)
	w.Workload, w.Gone = e.Workload, e.Gone
	s.Waiting = append(s.Waiting, w)
}
