package nodevolumelimits

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// limit is the rule of one driver: a node attaches at most as many volumes as its CSINode says. A volume counts once on a node, however
// many pods use it, and as long as a VolumeAttachment holds it.
type limit struct {
	state    *cluster.State
	driver   string
	own      []cluster.Attachment // of the pod
	limits   []int64              // by node, -1 for none
	attached *cluster.Attached
	counts   []int64 // by node: what is attached, and what the pod adds; 0 where it adds nothing, and where no limit is
}

func newLimit(s *cluster.State, driver string, own []cluster.Attachment, attached *cluster.Attached) *limit {
	r := &limit{state: s, driver: driver, own: own, limits: attached.Limits(), attached: attached}
	migrated := slices.ContainsFunc(own, func(a cluster.Attachment) bool { return a.Migrated })
	fewer := make(map[uint32]bool) // the nodes to which the pod adds fewer volumes than it has
	var nodes []uint32
	for i := range own {
		if own[i].Handle != "" {
			for _, node := range attached.Users(nodes[:0], own[i].Handle) {
				fewer[node] = true
			}
		}
	}
	r.counts = make([]int64, s.Len())
	for node, limit := range r.limits {
		if limit < 0 {
			continue
		}
		adds := int64(len(own))
		if migrated || fewer[uint32(node)] {
			adds = r.adds(uint32(node))
		}
		if adds > 0 {
			r.counts[node] = attached.Counts[node] + adds
		}
	}
	return r
}

// adds returns the number of volumes that the pod adds to a node.
func (r *limit) adds(node uint32) (n int64) {
	for i := range r.own {
		a := &r.own[i]
		if !(a.Migrated && r.state.CSINode(node) == nil) && (a.Handle == "" || !r.attached.UsedOn(node, a.Handle)) {
			n++
		}
	}
	return n
}

func (r *limit) Rule() verdict.PodRule { return verdict.PodRule{Plugin: verdict.NodeVolumeLimits} }

func (r *limit) Column() *topology.Column { return nil }

func (r *limit) Rejection() (verdict.Code, verdict.Reason) {
	return verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonVolumeLimit)
}

func (r *limit) Groups() iter.Seq2[int, *cluster.Group] {
	return rule.Matching(r.state.WithVolumes(), func(g *cluster.Group) bool { return r.Weight(g) > 0 }).Groups
}

// Weight returns how many volumes a pod of a group has that no VolumeAttachment of its node holds and that the pod of the rule does not
// have.
func (r *limit) Weight(g *cluster.Group) (n int64) {
	for _, a := range r.state.AttachmentsBy(r.driver, g.Volumes) {
		if a.Handle == "" || !r.has(a.Handle) && (len(g.Nodes) == 0 || !r.attached.Holds(g.Nodes[0], a.Handle)) {
			n++
		}
	}
	return n
}

// has reports whether the pod of the rule has an attachment.
func (r *limit) has(handle string) bool {
	return slices.ContainsFunc(r.own, func(a cluster.Attachment) bool { return a.Handle == handle })
}

func (r *limit) Domain(node uint32) (domain int32, in bool) { return int32(node), true }

func (r *limit) Counts() []int64 { return r.counts }

func (r *limit) Add(node uint32, weight int64) bool {
	before := r.Excess(node, 0) > 0
	if r.counts[node] > 0 {
		r.counts[node] += weight
	}
	return before != (r.Excess(node, 0) > 0)
}

func (r *limit) Excess(node uint32, more int64) int64 {
	if r.limits[node] < 0 || r.counts[node]+more == 0 {
		return 0
	}
	return max(0, r.counts[node]+more-r.limits[node])
}

func (r *limit) Rejected() nodeset.Set {
	rejected := nodeset.New(r.state.Len())
	for node := range uint32(r.state.Len()) {
		if r.Excess(node, 0) > 0 {
			rejected.Add(node)
		}
	}
	return rejected
}

func (r *limit) Fork() rule.Kind {
	fork := *r
	fork.counts = slices.Clone(r.counts)
	return &fork
}

// More counts the volumes of the pods that are on the node then, each once, and the volumes of the pod that are not among them. If these are
// none, kube-scheduler does not look at the limit, and nothing counts.
func (r *limit) More(node uint32, changes iter.Seq2[*cluster.Group, int64]) int64 {
	if r.limits[node] < 0 {
		return 0
	}
	used, alone := make(map[string]int64), int64(0)
	use := func(g *cluster.Group, pods int64) {
		for _, a := range r.state.AttachmentsBy(r.driver, g.Volumes) {
			switch {
			case a.Migrated && r.state.CSINode(node) == nil:
			case a.Handle == "":
				alone += pods
			default:
				used[a.Handle] += pods
			}
		}
	}
	for _, o := range r.state.Occupants(node) {
		use(r.state.Group(o.Group), int64(o.Count))
	}
	for g, pods := range changes {
		use(g, pods)
	}
	attached, adds := alone+r.attached.HeldWithout(node, func(handle string) bool { return used[handle] > 0 }), int64(0)
	for _, pods := range used {
		if pods > 0 {
			attached++
		}
	}
	for i := range r.own {
		if a := &r.own[i]; !(a.Migrated && r.state.CSINode(node) == nil) && (a.Handle == "" || used[a.Handle] <= 0) {
			adds++
		}
	}
	if adds == 0 {
		return -r.counts[node]
	}
	return attached + adds - r.counts[node]
}
