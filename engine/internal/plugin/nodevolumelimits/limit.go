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
	// These are of the state in which the rule was compiled: what nodes had attached, how many volumes the pod adds where it adds fewer
	// than it has, and the nodes that reject it.
	before   []int64
	fewer    map[uint32]int64
	rejected nodeset.Set
	// counts are, by node, what is attached, and what the pod adds; 0 where it adds nothing, and where no limit is. nil until pods come.
	counts []int64
}

func newLimit(s *cluster.State, driver string, own []cluster.Attachment, attached *cluster.Attached) *limit {
	r := &limit{
		state: s, driver: driver, own: own, limits: attached.Limits(), attached: attached,
		before: attached.Counts(), rejected: attached.Full(len(own)),
	}
	var nodes []uint32
	for i := range own {
		if own[i].Handle == "" {
			continue
		}
		for _, node := range attached.Users(nodes[:0], own[i].Handle) {
			if _, known := r.fewer[node]; known || r.limits[node] < 0 {
				continue
			}
			if r.fewer == nil {
				r.fewer = make(map[uint32]int64)
			}
			if r.fewer[node] = r.adds(node); r.Excess(node, 0) > 0 {
				r.rejected.Add(node)
			} else {
				r.rejected.Remove(node)
			}
		}
	}
	return r
}

// adds returns the number of volumes that the pod adds to a node.
func (r *limit) adds(node uint32) (n int64) {
	for i := range r.own {
		if a := &r.own[i]; a.Handle == "" || !r.attached.UsedOn(node, a.Handle) {
			n++
		}
	}
	return n
}

// at returns the count of a node.
func (r *limit) at(node uint32) int64 {
	if r.counts != nil {
		return r.counts[node]
	}
	if r.limits[node] < 0 {
		return 0
	}
	adds, fewer := r.fewer[node]
	switch {
	case !fewer:
		adds = int64(len(r.own))
	case adds == 0:
		return 0
	}
	return r.before[node] + adds
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

func (r *limit) Counts() []int64 {
	if r.counts == nil {
		counts := make([]int64, len(r.limits))
		for node := range counts {
			counts[node] = r.at(uint32(node))
		}
		r.counts = counts
	}
	return r.counts
}

func (r *limit) Add(node uint32, weight int64) bool {
	before := r.Excess(node, 0) > 0
	if counts := r.Counts(); counts[node] > 0 {
		counts[node] += weight
	}
	now := r.Excess(node, 0) > 0
	if now {
		r.rejected.Add(node)
	} else {
		r.rejected.Remove(node)
	}
	return before != now
}

func (r *limit) Excess(node uint32, more int64) int64 {
	count := r.at(node) + more
	if r.limits[node] < 0 || count == 0 {
		return 0
	}
	return max(0, count-r.limits[node])
}

func (r *limit) Rejected() nodeset.Set { return r.rejected }

func (r *limit) Fork() rule.Kind {
	fork := *r
	fork.counts, fork.rejected = slices.Clone(r.Counts()), r.rejected.Clone()
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
			if a.Handle == "" {
				alone += pods
			} else {
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
		if a := &r.own[i]; a.Handle == "" || used[a.Handle] <= 0 {
			adds++
		}
	}
	if adds == 0 {
		return -r.at(node)
	}
	return attached + adds - r.at(node)
}
