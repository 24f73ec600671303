package place

import (
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Group is the result for the pods of one object, or of several pods that one controller made.
type Group struct {
	Origin   kube.Origin
	Nodes    []string // one for each placed pod
	Unplaced uint32
	Evicted  uint32
	// Unattempted is the number of unplaced pods that a deadline left.
	Unattempted uint32
	// Reasons are why pods have no node, in the order of the queue. Of pods that their group keeps from nodes, the group says why.
	Reasons []*Reason
}

// Reason is why some pods of a workload have no node.
type Reason struct {
	// Pods is their number, First the placement of the first of them.
	Pods  uint32
	First *stowagev1.Placement
	// Changeable: First was evaluated, so there may be changes that would place it.
	Changeable bool
}

// reasonOf is a key of reasons: pods of a workload with different specs may need different changes.
type reasonOf struct {
	workload      *Group
	message, spec string
}

// Grouped groups the placements of a response, which may be a part of the whole one, by object. queue has the queue index of each placement, nil if they are in order.
func (a *Answer) Grouped(response *stowagev1.PlaceResponse, queue []int) []*Group {
	if a.objects == nil {
		a.objects = objectsOf(a.Snapshot)
	}
	var out []*Group
	index := map[kube.Origin]*Group{}
	reasons := map[reasonOf]*Reason{}
	for i, placement := range response.GetPlacements() {
		if queue != nil {
			i = queue[i]
		}
		entry := a.Snapshot.Entry(i)
		origin := a.objects.of(a.Snapshot.Cluster, entry)
		l, ok := index[origin]
		if !ok {
			l = &Group{Origin: origin}
			index[origin] = l
			out = append(out, l)
		}
		l.Nodes = append(l.Nodes, placement.GetNodes().GetNames()...)
		l.Unplaced += placement.GetUnplacedCount()
		l.Evicted += placement.GetEvictedCount()
		l.Unattempted += placement.GetUnattemptedCount()
		explained := entry.Message != "" || entry.Pods.GetPodGroup() == "" || len(placement.GetRejections()) > 0
		if n := placement.GetUnplacedCount() - placement.GetUnattemptedCount(); n > 0 && explained {
			key := reasonOf{l, placement.GetMessage(), a.Snapshot.SpecOf(entry)}
			if reasons[key] == nil {
				reasons[key] = &Reason{First: placement, Changeable: entry.Message == ""}
				l.Reasons = append(l.Reasons, reasons[key])
			}
			reasons[key].Pods += n
		}
	}
	return out
}

// controlled are pods that one controller made. The contract has no names of some kinds of controllers; of these, the template
// distinguishes the pods.
type controlled struct {
	kind, namespace, name string
	template              uint32
}

// objects are the names of controllers with several pods in the queue, which are counted together.
type objects map[controlled]kube.Origin

func objectsOf(s *kube.Snapshot) objects {
	pods := map[controlled][]string{}
	for i := range len(s.Queue) + len(s.Waiting) {
		if key, ok := controllerOf(s.Cluster, s.Entry(i)); ok {
			pods[key] = append(pods[key], s.Entry(i).Origin.Name)
		}
	}
	out := objects{}
	for key, names := range pods {
		if len(names) == 1 {
			continue
		}
		name := key.name
		if name == "" {
			name = commonStart(names) + "*"
		}
		out[key] = kube.Origin{Kind: key.kind, Namespace: key.namespace, Name: name}
	}
	return out
}

// controllerOf returns the controller of a pod of the queue. It is not ok for pods that manifests of workloads stand for, and
// for pods without a controller.
func controllerOf(c *stowagev1.Cluster, e kube.Entry) (key controlled, ok bool) {
	owner := compact.Template(c, e.Pods.GetPod()).GetController()
	if e.Origin.Kind != "Pod" || owner == nil || e.Misread != nil {
		return controlled{}, false
	}
	key = controlled{kind: owner.GetKind(), namespace: e.Origin.Namespace, name: owner.GetName()}
	if key.name == "" {
		key.template = e.Pods.GetPod().GetTemplateIndex()
	}
	return key, true
}

// of returns what the pods of an entry are counted as.
func (o objects) of(c *stowagev1.Cluster, e kube.Entry) kube.Origin {
	if key, ok := controllerOf(c, e); ok {
		if origin, several := o[key]; several {
			return origin
		}
	}
	return e.Origin
}

// commonStart is what all names begin with, up to the last dash.
func commonStart(all []string) string {
	start := all[0]
	for _, name := range all {
		for !strings.HasPrefix(name, start) {
			start = start[:len(start)-1]
		}
	}
	return start[:strings.LastIndex(start, "-")+1]
}
