package cluster

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// Attachment is a volume of a CSI driver, as nodes attach it.
type Attachment struct {
	Driver string
	// Handle is the volume's handle, or stands for the volume that a claim will get. It is empty for the claim that a pod without a
	// name has alone.
	Handle string
	// Migrated volumes count only on nodes with a CSINode.
	Migrated bool
}

// AttachmentOf returns what a volume of a pod is attached as, and whether it counts (pkg/scheduler/framework/plugins/nodevolumelimits/
// csi.go filterAttachableVolumes, v1.37).
func (c *Cluster) AttachmentOf(v *Volume) (a Attachment, counts bool) {
	if v.Of == nil {
		a = Attachment{v.Disk.CSIDriver, v.Disk.VolumeHandle, true}
		return a, a.Driver != ""
	}
	claim, found := c.FindClaim(v)
	if !found {
		return a, false
	}
	if claim.Object != nil && claim.Object.VolumeName != "" {
		if of := c.storage.Volume(claim.Object.VolumeName); of != nil {
			a = Attachment{of.CSIDriver, of.VolumeHandle, of.InTreePlugin != ""}
			return a, a.Driver != "" && a.Handle != ""
		}
	}
	class := c.storage.Class(claim.Spec.StorageClassName)
	if class == nil || class.Provisioner == "" {
		return a, false
	}
	if a = (Attachment{Driver: class.Provisioner}); class.CSIDriver != "" {
		a.Driver, a.Migrated = class.CSIDriver, true
	}
	if v.Claim.Name != "" {
		a.Handle = "claim " + v.Claim.Namespace + "/" + v.Claim.Name // no volume has it: the API server allows no such handles of claims
	}
	return a, true
}

// driverUse is what the nodes of a cluster have attached of one driver. Only nodes with a limit count.
type driverUse struct {
	// limits are by node, -1 for no limit; nil if no node has one.
	limits []int64
	// counts are the volumes of pods and of VolumeAttachments by node, each once.
	counts []int64
	// users are the pods that use an attachment, ascending by node.
	users map[string][]users
	// held are, by node, the volumes of VolumeAttachments.
	held [][]string
	// full are the nodes that cannot attach one volume more, two volumes, and so on. They are published once they are known.
	full [fullKept]atomic.Pointer[nodeset.Set]
}

// fullKept is the number of sets of full nodes that are kept: pods with more volumes of one driver are rare.
const fullKept = 8

// users is a number of pods of a node.
type users struct {
	node uint32
	pods int64
}

// attachedBy returns what the nodes have attached of a driver. Of two concurrent first calls, both compute it.
func (c *Cluster) attachedBy(driver string) *driverUse {
	return c.attachments.Get(driver, func() (*driverUse, int64, bool) {
		a := c.attach(driver)
		return a, a.bytes(), true
	})
}

func (c *Cluster) attach(driver string) *driverUse {
	a := &driverUse{limits: c.limitsOf(driver)}
	if a.limits == nil {
		return a
	}
	a.counts, a.users, a.held = make([]int64, c.Len()), make(map[string][]users), make([][]string, c.Len())
	for _, i := range c.volumeGroups {
		g := c.groups.get(i)
		for _, of := range c.AttachmentsBy(driver, g.Volumes) {
			for node, pods := range g.All() {
				if of.Handle == "" {
					a.counts[node] += int64(pods)
				} else {
					a.users[of.Handle] = append(a.users[of.Handle], users{node, int64(pods)})
				}
			}
		}
	}
	for handle, list := range a.users {
		slices.SortFunc(list, func(x, y users) int { return cmp.Compare(x.node, y.node) })
		merged := list[:0]
		for _, u := range list {
			if n := len(merged); n > 0 && merged[n-1].node == u.node {
				merged[n-1].pods += u.pods
				continue
			}
			merged = append(merged, u)
			a.counts[u.node]++
		}
		a.users[handle] = merged
	}
	for node := range uint32(c.Len()) {
		a.held[node] = c.heldOn(node, driver)
		for _, handle := range a.held[node] {
			if a.usersOn(node, handle) == 0 {
				a.counts[node]++
			}
		}
	}
	return a
}

// heldOn returns the volumes of a driver that VolumeAttachments hold on a node, each once.
func (c *Cluster) heldOn(node uint32, driver string) (handles []string) {
	for _, name := range c.AttachedTo(node) {
		v := c.storage.Volume(name)
		if v != nil && v.CSIDriver == driver && v.InTreePlugin == "" && !slices.Contains(handles, v.VolumeHandle) {
			handles = append(handles, v.VolumeHandle)
		}
	}
	return handles
}

// bytes estimates the memory.
func (a *driverUse) bytes() int64 {
	const perHandle = 40 * mapOverhead // without its users
	bytes := 16*len(a.counts) + 24*len(a.held) + fullKept*len(a.counts)/8 + int(perHandle)*len(a.users)
	for handle, list := range a.users {
		bytes += len(handle) + 16*cap(list)
	}
	for _, handles := range a.held {
		bytes += 16 * cap(handles) // the volumes have the strings
	}
	return int64(bytes)
}

// fullFor returns the nodes that cannot attach a number of volumes more. The result must not be changed.
func (a *driverUse) fullFor(volumes int) nodeset.Set {
	if volumes > fullKept {
		return fullNodes(a.limits, a.counts, volumes)
	}
	at := &a.full[volumes-1]
	if at.Load() == nil {
		at.CompareAndSwap(nil, new(fullNodes(a.limits, a.counts, volumes)))
	}
	return *at.Load()
}

func fullNodes(limits, counts []int64, volumes int) nodeset.Set {
	nodes := nodeset.New(len(limits))
	for node, limit := range limits {
		if limit >= 0 && counts[node]+int64(volumes) > limit {
			nodes.Add(uint32(node))
		}
	}
	return nodes
}

// limitsOf returns by node how many volumes a driver can attach, -1 for no limit; nil if no node has one.
func (c *Cluster) limitsOf(driver string) []int64 {
	list := c.CSINodes()
	limits, limited := make([]int64, len(list)), false
	for i, n := range list {
		limits[i] = -1
		if d := n.Driver(driver); d != nil && d.AllocatableCount != nil {
			limits[i], limited = int64(*d.AllocatableCount), true
		}
	}
	if !limited {
		return nil
	}
	out, number := make([]int64, c.Len()), c.CSINodeNumbers()
	for node := range out {
		out[node] = limits[number(uint32(node))]
	}
	return out
}

// AttachmentsOf returns what volumes of a pod are attached as, each once. A volume counts on all nodes if one use of it does.
func (c *Cluster) AttachmentsOf(volumes []Volume) (out []Attachment) {
	for i := range volumes {
		a, counts := c.AttachmentOf(&volumes[i])
		if !counts {
			continue
		}
		same := func(b Attachment) bool { return a.Handle != "" && a.Driver == b.Driver && a.Handle == b.Handle }
		if at := slices.IndexFunc(out, same); at >= 0 {
			out[at].Migrated = out[at].Migrated && a.Migrated
		} else {
			out = append(out, a)
		}
	}
	return out
}

// AttachmentsBy is AttachmentsOf for one driver.
func (c *Cluster) AttachmentsBy(driver string, volumes []Volume) []Attachment {
	return slices.DeleteFunc(c.AttachmentsOf(volumes), func(a Attachment) bool { return a.Driver != driver })
}

// usersOn returns the number of pods of a node that use an attachment.
func (a *driverUse) usersOn(node uint32, handle string) int64 {
	list := a.users[handle]
	if at, found := slices.BinarySearchFunc(list, node, func(u users, node uint32) int { return cmp.Compare(u.node, node) }); found {
		return list[at].pods
	}
	return 0
}

// Attached is what is attached of one driver in a state. It changes with the pods that the state assumes and evicts.
type Attached struct {
	*driverUse
	driver string
	// counts are the volumes by node, each once: of pods, and of VolumeAttachments. They are shared unless own is set.
	counts []int64
	own    bool
	// full are the nodes that cannot attach a number of volumes more; nil while these are the cluster's.
	full map[int]nodeset.Set
	// changes are, by attachment and node, how many more pods use it than in the cluster.
	changes map[string]map[uint32]int64
}

// Limits are the limits by node, -1 for no limit; nil if no node has one.
func (a *Attached) Limits() []int64 { return a.limits }

// Counts returns the volumes by node that has a limit, each once: of pods, and of VolumeAttachments. They must not be changed, and do not
// change with the state.
func (a *Attached) Counts() []int64 {
	a.own = false
	return a.counts
}

// count counts a volume more on a node, or less.
func (a *Attached) count(node uint32, more int64) {
	if !a.own {
		a.counts, a.own = slices.Clone(a.counts), true
	}
	if a.full == nil {
		a.full = make(map[int]nodeset.Set)
	}
	a.counts[node] += more
	for volumes, nodes := range a.full {
		if limit := a.limits[node]; limit >= 0 && a.counts[node]+int64(volumes) > limit {
			nodes.Add(node)
		} else {
			nodes.Remove(node)
		}
	}
}

// Full returns the nodes that cannot attach a number of volumes more, which is not 0.
func (a *Attached) Full(volumes int) nodeset.Set {
	if a.full == nil {
		return a.fullFor(volumes).Clone()
	}
	nodes, known := a.full[volumes]
	if !known {
		nodes = fullNodes(a.limits, a.counts, volumes)
		a.full[volumes] = nodes
	}
	return nodes.Clone()
}

// UsedOn reports whether a pod of a node uses an attachment.
func (a *Attached) UsedOn(node uint32, handle string) bool {
	return a.usersOn(node, handle)+a.changes[handle][node] > 0
}

// Users appends the nodes with pods that use an attachment.
func (a *Attached) Users(nodes []uint32, handle string) []uint32 {
	for _, u := range a.users[handle] {
		if u.pods+a.changes[handle][u.node] > 0 {
			nodes = append(nodes, u.node)
		}
	}
	for node, more := range a.changes[handle] {
		if more > 0 && a.usersOn(node, handle) == 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Holds reports whether a VolumeAttachment of a node holds an attachment, whether or not pods use it.
func (a *Attached) Holds(node uint32, handle string) bool {
	return slices.Contains(a.held[node], handle)
}

// HeldWithout returns the number of volumes of VolumeAttachments of a node that are not used.
func (a *Attached) HeldWithout(node uint32, used func(handle string) bool) (n int64) {
	for _, handle := range a.held[node] {
		if !used(handle) {
			n++
		}
	}
	return n
}

// AttachedBy returns what is attached of a driver now. The result changes with the state.
func (s *State) AttachedBy(driver string) *Attached {
	if a := s.attachedBy[driver]; a != nil {
		return a
	}
	base := s.Cluster.attachedBy(driver)
	a := &Attached{driverUse: base, driver: driver, counts: base.counts}
	for i := range s.assumed {
		if of := &s.assumed[i]; !of.evicted {
			s.change(a, of.pod.Volumes, of.node, 1)
		}
	}
	for i := range s.evicted {
		if e := &s.evicted[i]; e.Queue < 0 {
			s.change(a, s.Group(e.Group).Volumes, e.node, -int64(e.Count))
		}
	}
	for _, b := range s.brought {
		s.change(a, s.Group(b.group).Volumes, b.node, int64(b.count))
	}
	if s.attachedBy == nil {
		s.attachedBy = make(map[string]*Attached)
	}
	s.attachedBy[driver] = a
	return a
}

// volumesCome counts the volumes of pods that come to a node, or leave it if their number is negative.
func (s *State) volumesCome(volumes []Volume, node uint32, pods int64) {
	if len(volumes) == 0 {
		return
	}
	for _, a := range s.attachedBy {
		s.change(a, volumes, node, pods)
	}
}

func (s *State) change(a *Attached, volumes []Volume, node uint32, pods int64) {
	if a.limits == nil || a.limits[node] < 0 {
		return
	}
	for _, of := range s.AttachmentsBy(a.driver, volumes) {
		if of.Handle == "" {
			a.count(node, pods)
			continue
		}
		before := a.UsedOn(node, of.Handle)
		if a.changes == nil {
			a.changes = make(map[string]map[uint32]int64)
		}
		if a.changes[of.Handle] == nil {
			a.changes[of.Handle] = make(map[uint32]int64)
		}
		a.changes[of.Handle][node] += pods
		if after := a.UsedOn(node, of.Handle); after != before && !a.Holds(node, of.Handle) {
			if after {
				a.count(node, 1)
			} else {
				a.count(node, -1)
			}
		}
	}
}
