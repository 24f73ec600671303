package fill

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// DevicesPrefix is the prefix of the names under which a Node counts the devices of its ResourceSlices, by driver. A device counts as requested
// if a claim has it, or if claims leave too little for it, such as for a partition of a GPU that a claim has. Devices that several nodes can use
// are not counted.
const DevicesPrefix = "devices/"

// objects are the objects of devices, which do not change.
type objects struct {
	nodes   map[string]int // by name
	pools   [][]*pool      // by node
	at      map[[3]string]place
	matches map[string]map[string]bool // types by expression
	classes map[string]*stowagev1.DeviceClass
	serving map[string]*stowagev1.DeviceClass // by extended resource
	claims  map[string]*stowagev1.ResourceClaim
	ofPods  map[string][]*stowagev1.ResourceClaim // the ones that a pod alone has, by its name
}

// pool is the devices of a driver in a pool of one node.
type pool struct {
	driver   string
	devices  []device
	counters map[string]int64
}

type device struct {
	*stowagev1.Device
	kind *stowagev1.DeviceType
}

type place struct {
	node         int
	pool, device int
}

// taken is what claims have.
type taken struct {
	claims   map[string]bool // that have devices by an estimate
	devices  map[place]int   // claims that have a device
	consumed map[place]map[string]int64
}

func (t taken) clone() taken {
	out := taken{maps.Clone(t.claims), maps.Clone(t.devices), make(map[place]map[string]int64, len(t.consumed))}
	for at, of := range t.consumed {
		out.consumed[at] = maps.Clone(of)
	}
	return out
}

// readDevices reads the devices of a cluster, nil if it has none.
func readDevices(c *stowagev1.Cluster) *objects {
	if len(c.GetResourceSlices()) == 0 {
		return nil
	}
	out := &objects{
		nodes: map[string]int{}, pools: make([][]*pool, len(c.GetNodes())), at: map[[3]string]place{}, matches: map[string]map[string]bool{},
		classes: map[string]*stowagev1.DeviceClass{}, serving: map[string]*stowagev1.DeviceClass{}, claims: map[string]*stowagev1.ResourceClaim{},
		ofPods: map[string][]*stowagev1.ResourceClaim{},
	}
	for i, n := range c.GetNodes() {
		out.nodes[n.GetName()] = i
	}
	out.readPools(c)
	out.readClasses(c)
	for _, claim := range c.GetResourceClaims() {
		out.claims[claim.GetNamespace()+"/"+claim.GetName()] = claim
		if pods := claim.GetReservedFor(); len(pods) == 1 && claim.GetAllocation() != nil {
			key := claim.GetNamespace() + "/" + pods[0]
			out.ofPods[key] = append(out.ofPods[key], claim)
		}
	}
	return out
}

// Drivers are the names under which a node counts its devices, in order.
func (n *Node) Drivers() []corev1.ResourceName {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(n.Allocatable)), func(name corev1.ResourceName) bool {
		return !strings.HasPrefix(string(name), DevicesPrefix)
	})
}

// DriversOf returns the drivers of devices that a class selects, in order.
func DriversOf(c *stowagev1.Cluster, class string) []string {
	objects := readDevices(c)
	found := map[string]bool{}
	for _, pools := range objects.byNode() {
		for _, p := range pools {
			found[p.driver] = found[p.driver] || slices.ContainsFunc(p.devices, func(d device) bool {
				return objects.selects(&stowagev1.ExactDeviceRequest{DeviceClassName: class}, p, &d)
			})
		}
	}
	maps.DeleteFunc(found, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(found))
}

func (o *objects) byNode() [][]*pool {
	if o == nil {
		return nil
	}
	return o.pools
}

// readClasses reads the classes and the outcomes of their expressions.
func (o *objects) readClasses(c *stowagev1.Cluster) {
	for _, e := range c.GetDeviceExpressions() {
		of := map[string]bool{}
		for _, name := range e.GetMatches() {
			of[name] = true
		}
		o.matches[e.GetName()] = of
	}
	for _, class := range c.GetDeviceClasses() {
		o.classes[class.GetName()] = class
		o.serving[resourcev1.ResourceDeviceClassPrefix+class.GetName()] = class
		if name := class.GetExtendedResourceName(); name != "" {
			if other := o.serving[name]; other == nil || class.GetCreationTime() > other.GetCreationTime() {
				o.serving[name] = class
			}
		}
	}
}

// readPools reads the slices of nodes. Of each pool, only the newest generation counts.
func (o *objects) readPools(c *stowagev1.Cluster) {
	types := map[string]*stowagev1.DeviceType{}
	for _, t := range c.GetDeviceTypes() {
		types[t.GetName()] = t
	}
	newest := map[[2]string]int64{}
	for _, s := range c.GetResourceSlices() {
		key := [2]string{s.GetDriver(), s.GetPool()}
		newest[key] = max(newest[key], s.GetGeneration())
	}
	pools := map[[3]string]int{}
	for _, s := range slices.SortedFunc(slices.Values(c.GetResourceSlices()), func(a, b *stowagev1.ResourceSlice) int {
		return strings.Compare(a.GetName(), b.GetName())
	}) {
		node, found := o.nodes[s.GetNodeName()]
		if !found || s.GetGeneration() != newest[[2]string{s.GetDriver(), s.GetPool()}] {
			continue
		}
		key := [3]string{s.GetDriver(), s.GetPool(), s.GetNodeName()}
		i, known := pools[key]
		if !known {
			i = len(o.pools[node])
			pools[key], o.pools[node] = i, append(o.pools[node], &pool{driver: s.GetDriver(), counters: map[string]int64{}})
		}
		p := o.pools[node][i]
		for _, set := range s.GetCounterSets() {
			for _, counter := range set.GetCounters() {
				p.counters[set.GetName()+"/"+counter.GetName()] = counter.GetValue()
			}
		}
		for _, d := range s.GetDevices() {
			o.at[[3]string{s.GetDriver(), s.GetPool(), d.GetName()}] = place{node, i, len(p.devices)}
			p.devices = append(p.devices, device{d, types[d.GetType()]})
		}
	}
}

// uses are the counters that a device consumes.
func (d *device) uses(yield func(counter string, amount int64)) {
	for _, set := range d.GetConsumesCounters() {
		for _, counter := range set.GetCounters() {
			yield(set.GetName()+"/"+counter.GetName(), counter.GetValue())
		}
	}
}

// left is what claims leave of the counters of a pool.
func (n *Nodes) left(node, i int) map[string]int64 {
	p := n.devices.pools[node][i]
	out := maps.Clone(p.counters)
	for j := range p.devices {
		if n.taken.devices[place{node, i, j}] > 0 {
			p.devices[j].uses(func(counter string, amount int64) { out[counter] -= amount })
		}
	}
	return out
}

// free reports whether another claim can have a device.
func (n *Nodes) free(at place, left map[string]int64) bool {
	d := &n.devices.pools[at.node][at.pool].devices[at.device]
	if n.taken.devices[at] == 0 {
		fits := true
		d.uses(func(counter string, amount int64) { fits = fits && amount <= left[counter] })
		return fits
	}
	if !d.kind.GetAllowMultipleAllocations() {
		return false
	}
	return !slices.ContainsFunc(d.kind.GetCapacities(), func(c *stowagev1.DeviceCapacity) bool {
		return n.taken.consumed[at][c.GetName()] >= c.GetValue()
	})
}

// count sets the numbers of a node's devices.
func (n *Nodes) count(node int) {
	of := &n.All[node]
	all, requested := map[corev1.ResourceName]int64{}, map[corev1.ResourceName]int64{}
	for i, p := range n.devices.pools[node] {
		left := n.left(node, i)
		name := corev1.ResourceName(DevicesPrefix + p.driver)
		for j := range p.devices {
			if all[name]++; !n.free(place{node, i, j}, left) {
				requested[name]++
			}
		}
	}
	for name, devices := range all {
		of.Allocatable[name] = *resource.NewQuantity(devices, resource.DecimalSI)
		of.Requested[name] = *resource.NewQuantity(requested[name], resource.DecimalSI)
	}
}

// Take gives devices to a claim.
func (n *Nodes) Take(devices []*stowagev1.DeviceAllocation) { n.give(devices, 1) }

// give gives devices to a claim, or takes them from it.
func (n *Nodes) give(devices []*stowagev1.DeviceAllocation, sign int) {
	if n.devices == nil {
		return
	}
	changed := map[int]bool{}
	for _, a := range devices {
		at, found := n.devices.at[[3]string{a.GetDriver(), a.GetPool(), a.GetDevice()}]
		if !found || a.GetAdminAccess() {
			continue
		}
		changed[at.node] = true
		n.taken.devices[at] += sign
		for _, c := range a.GetConsumedCapacity() {
			if n.taken.consumed[at] == nil {
				n.taken.consumed[at] = map[string]int64{}
			}
			n.taken.consumed[at][c.GetName()] += int64(sign) * c.GetValue()
		}
	}
	for node := range changed {
		n.count(node)
	}
}

// leave takes the devices of the claims that a pod alone has.
func (n *Nodes) leave(namespace, name string) {
	if n.devices == nil {
		return
	}
	for _, claim := range n.devices.ofPods[namespace+"/"+name] {
		n.give(claim.GetAllocation().GetDevices(), -1)
	}
}

// Estimate gives devices of a node to a number of pods, for answers that have no devices: the first free ones for each request, without
// constraints.
func (n *Nodes) Estimate(node uint32, p *stowagev1.Pod, pods int) {
	if n.devices == nil || len(n.devices.pools[node]) == 0 {
		return
	}
	t := compact.Template(n.cluster, p)
	for range pods {
		for _, entry := range t.GetSpec().GetResourceClaims() {
			n.estimate(int(node), n.specOf(t.GetNamespace(), entry, p))
		}
		for name, q := range n.takes(p) {
			has := n.All[node].Allocatable[name]
			if class := n.devices.serving[string(name)]; class != nil && has.IsZero() {
				n.choose(int(node), &stowagev1.ExactDeviceRequest{DeviceClassName: class.GetName(), Count: q.Value()})
			}
		}
	}
}

// specOf returns what a claim of a pod requests, nil for a claim that has devices.
func (n *Nodes) specOf(namespace string, entry *stowagev1.PodResourceClaim, p *stowagev1.Pod) *stowagev1.ResourceClaimSpec {
	name := entry.GetResourceClaimName()
	for _, s := range p.GetResourceClaimStatuses() {
		if s.GetName() == entry.GetName() {
			name = cmp.Or(name, s.GetResourceClaimName())
		}
	}
	if name == "" {
		return entry.GetTemplate()
	}
	key := namespace + "/" + name
	claim := n.devices.claims[key]
	if claim.GetAllocation() != nil || n.taken.claims[key] {
		return nil
	}
	n.taken.claims[key] = true
	return claim.GetSpec()
}

func (n *Nodes) estimate(node int, spec *stowagev1.ResourceClaimSpec) {
	for _, r := range spec.GetRequests() {
		if r.GetExactly() != nil {
			n.choose(node, r.GetExactly())
			continue
		}
		for _, sub := range r.GetFirstAvailable() {
			if n.choose(node, sub.GetRequest()) {
				break
			}
		}
	}
}

// choose gives the first devices of a node that a request selects, unless there are too few.
func (n *Nodes) choose(node int, r *stowagev1.ExactDeviceRequest) bool {
	var places []place
	for i, p := range n.devices.pools[node] {
		for j := range p.devices {
			at := place{node, i, j}
			if !r.GetAll() && int64(len(places)) == max(1, r.GetCount()) {
				break
			}
			if !n.devices.selects(r, p, &p.devices[j]) || r.GetAdminAccess() || !n.free(at, n.left(node, i)) {
				continue
			}
			n.taken.devices[at]++
			places = append(places, at)
		}
	}
	if len(places) == 0 || !r.GetAll() && int64(len(places)) < max(1, r.GetCount()) {
		for _, at := range places {
			n.taken.devices[at]--
		}
		return false
	}
	n.count(node)
	return true
}

// selects reports whether a request selects a device.
func (o *objects) selects(r *stowagev1.ExactDeviceRequest, p *pool, d *device) bool {
	return !slices.ContainsFunc(slices.Concat(o.classes[r.GetDeviceClassName()].GetSelectors(), r.GetSelectors()), func(s *stowagev1.DeviceSelector) bool {
		if s.GetExpression() != "" {
			return !o.matches[s.GetExpression()][d.GetType()]
		}
		if s.GetDriver() != "" && s.GetDriver() != p.driver {
			return true
		}
		want := s.GetAttribute()
		return want != nil && !slices.ContainsFunc(slices.Concat(d.GetAttributes(), d.kind.GetAttributes()), func(a *stowagev1.DeviceAttribute) bool {
			return (a.GetName() == want.GetName() || p.driver+"/"+a.GetName() == want.GetName()) && a.GetValue() == want.GetValue()
		})
	})
}
