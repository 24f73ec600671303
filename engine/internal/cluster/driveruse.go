package cluster

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/pagedmap"
)

// driverUse is what the nodes of a cluster have attached of one driver. Only nodes with a limit count.
type driverUse struct {
	// limits are by node, -1 for no limit; nil if no node has one.
	limits []int64
	// counts are the volumes of pods and of VolumeAttachments by node, each once.
	counts []int64
	// on are by node.
	on []nodeUse
	// users are the pods that use an attachment, ascending by node.
	users pagedmap.Map[string, []users]
	// full are the nodes that cannot attach one volume more, two volumes, and so on. They are published once they are known.
	full [fullKept]atomic.Pointer[nodeset.Set]
}

// fullKept is the number of sets of full nodes that are kept: pods with more volumes of one driver are rare.
const fullKept = 8

// nodeUse is what a node has attached of one driver.
type nodeUse struct {
	// handles are the attachments that pods use, ascending.
	handles []handleUse
	// unnamed are the attachments without a handle.
	unnamed int64
	// held are the volumes of VolumeAttachments.
	held []string
}

// handleUse is the number of pods of a node that use an attachment.
type handleUse struct {
	handle string
	pods   int64
}

// users is a number of pods of a node.
type users struct {
	node uint32
	pods int64
}

// attachedBy returns what the nodes have attached of a driver. Of two concurrent first calls, both compute it.
func (c *Cluster) attachedBy(driver string) *driverUse {
	return c.attachments.Get(driver, func() (*driverUse, int64, bool) {
		a := c.attach(driver, c.attachedBefore.before(driver))
		return a, a.bytes(), true
	})
}

// attach computes what is attached, from what was attached before unless that is nil.
func (c *Cluster) attach(driver string, before *driverUse) *driverUse {
	a := &driverUse{limits: c.limitsOf(driver)}
	if a.limits == nil {
		return a
	}
	var nodes nodeset.Set
	if before != nil && before.limits != nil {
		a.counts, a.on, a.users = slices.Clone(before.counts), slices.Clone(before.on), before.users.Derive()
		nodes = c.attachOther()
	} else {
		a.counts, a.on = make([]int64, c.Len()), make([]nodeUse, c.Len())
		nodes = nodeset.Full(c.Len())
	}
	for node := range nodes.All() {
		a.set(node, c.useOn(node, driver))
	}
	return a
}

// useOn returns what a node with a limit has attached.
func (c *Cluster) useOn(node uint32, driver string) (use nodeUse) {
	if d := c.CSINode(node).Driver(driver); d == nil || d.AllocatableCount == nil {
		return use
	}
	for _, p := range c.row(node).pods {
		volumes := c.groups.get(int(p.group)).Volumes
		if len(volumes) == 0 {
			continue
		}
		for _, of := range c.AttachmentsBy(driver, volumes) {
			if of.Handle == "" {
				use.unnamed += int64(p.count)
			} else {
				use.handles = append(use.handles, handleUse{of.Handle, int64(p.count)})
			}
		}
	}
	slices.SortFunc(use.handles, func(x, y handleUse) int { return strings.Compare(x.handle, y.handle) })
	merged := use.handles[:0]
	for _, of := range use.handles {
		if n := len(merged); n > 0 && merged[n-1].handle == of.handle {
			merged[n-1].pods += of.pods
		} else {
			merged = append(merged, of)
		}
	}
	use.handles, use.held = merged, c.heldOn(node, driver)
	return use
}

// set replaces what a node has attached.
func (a *driverUse) set(node uint32, use nodeUse) {
	for _, of := range a.on[node].handles {
		if use.podsOf(of.handle) == 0 {
			a.setUsers(of.handle, users{node, 0})
		}
	}
	count := use.unnamed + int64(len(use.handles))
	for _, of := range use.handles {
		if a.on[node].podsOf(of.handle) != of.pods {
			a.setUsers(of.handle, users{node, of.pods})
		}
	}
	for _, handle := range use.held {
		if use.podsOf(handle) == 0 {
			count++
		}
	}
	a.on[node], a.counts[node] = use, count
}

// setUsers sets the number of pods of a node that use an attachment.
func (a *driverUse) setUsers(handle string, of users) {
	list := a.users.Get(handle)
	at, found := slices.BinarySearchFunc(list, of.node, func(u users, node uint32) int { return cmp.Compare(u.node, node) })
	end := at
	if found {
		end++
	}
	switch rest := list[end:]; {
	case of.pods > 0:
		a.users.Set(handle, slices.Concat(list[:at], []users{of}, rest))
	case at+len(rest) > 0:
		a.users.Set(handle, slices.Concat(list[:at], rest))
	default:
		a.users.Delete(handle)
	}
}

// podsOf returns the number of pods that use an attachment.
func (u *nodeUse) podsOf(handle string) int64 {
	at, found := slices.BinarySearchFunc(u.handles, handle, func(of handleUse, handle string) int { return strings.Compare(of.handle, handle) })
	if !found {
		return 0
	}
	return u.handles[at].pods
}

// usersOn returns the number of pods of a node that use an attachment.
func (a *driverUse) usersOn(node uint32, handle string) int64 { return a.on[node].podsOf(handle) }

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

// bytes estimates the memory. A handle may be the string of a volume.
func (a *driverUse) bytes() int64 {
	bytes := 16*len(a.counts) + fullKept*len(a.counts)/8 + sizeOf[nodeUse]()*len(a.on)
	for i := range a.on {
		bytes += sizeOf[handleUse]()*cap(a.on[i].handles) + 16*cap(a.on[i].held)
		for _, of := range a.on[i].handles {
			bytes += len(of.handle)
		}
	}
	for _, list := range a.users.All {
		bytes += 16 * cap(list)
	}
	return int64(bytes) + a.users.Bytes()
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
