package allocate

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Inventory is the devices of a cluster. It is immutable.
type Inventory struct {
	types map[string]*deviceType
	ids   map[DeviceName]int32
	local map[string][]*Pool // by node, in the order of the search
	mixed []*mixedPool
	kinds map[string]int // of local pools, by what they have in common
	nodes []string       // by id: the node of a device of a local pool, empty for others
	pools map[poolName]bool
	// slices are the slices of local pools, by node.
	slices map[string][]*api.ResourceSlice
}

type poolName struct{ driver, pool string }

// DeviceName identifies a device.
type DeviceName struct{ Driver, Pool, Device string }

func (n DeviceName) String() string { return n.Driver + "/" + n.Pool + "/" + n.Device }

// deviceType is a type of devices.
type deviceType struct {
	*api.DeviceType
	index int // among the types
}

// Device is a device of a pool.
type Device struct {
	*api.Device
	// ID identifies the device in its inventory.
	ID int32

	typ   *deviceType
	slice *api.ResourceSlice
	pool  *Pool
	// uses are what the device consumes, by counter of the pool.
	uses []counterUse
}

// Name identifies the device.
func (d *Device) Name() DeviceName { return DeviceName{d.pool.Driver, d.pool.Name, d.Device.Name} }

type counterUse struct {
	counter int
	amount  int64
}

// Pool is the devices of a pool that a node can use.
type Pool struct {
	Driver, Name        string
	Incomplete, Invalid bool
	// Devices are the devices of slices of the node, in the order of the search.
	Devices []*Device

	elsewhere []*Device // of slices that the node cannot use
	counters  []int64
	binding   bool // a device has binding conditions
	kind      int  // of a local pool; pools of one kind differ in names alone
}

// All returns the devices of the pool, including devices of slices that the node cannot use.
func (p *Pool) All() []*Device { return slices.Concat(p.Devices, p.elsewhere) }

// mixedPool is a pool whose slices are not all of one node.
type mixedPool struct {
	driver, name string
	slices       []*api.ResourceSlice // by name
}

// NewInventory compiles the slices of a cluster, which must be in the order of their names.
func NewInventory(types []*api.DeviceType, list []*api.ResourceSlice) *Inventory {
	v := &Inventory{
		types: make(map[string]*deviceType, len(types)), ids: make(map[DeviceName]int32), local: make(map[string][]*Pool),
		kinds: make(map[string]int), pools: make(map[poolName]bool), slices: make(map[string][]*api.ResourceSlice),
	}
	for i, t := range types {
		v.types[t.Name] = &deviceType{t, i}
	}
	v.add(list)
	return v
}

// With returns the inventory with more slices, in the order of their names, whose devices have the next ids. It is not ok if a pool of
// them has other slices already.
func (v *Inventory) With(list []*api.ResourceSlice) (next *Inventory, ok bool) {
	if slices.ContainsFunc(list, func(s *api.ResourceSlice) bool { return v.pools[poolName{s.Driver, s.Pool}] }) {
		return nil, false
	}
	next = &Inventory{
		types: v.types, ids: maps.Clone(v.ids), local: maps.Clone(v.local), mixed: slices.Clip(v.mixed), kinds: maps.Clone(v.kinds),
		nodes: slices.Clip(v.nodes), pools: maps.Clone(v.pools), slices: maps.Clone(v.slices),
	}
	next.add(list)
	return next, true
}

// add adds slices of new pools.
func (v *Inventory) add(list []*api.ResourceSlice) {
	pools := make(map[poolName][]*api.ResourceSlice)
	var names []poolName
	for _, s := range list {
		name := poolName{s.Driver, s.Pool}
		if pools[name] == nil {
			names = append(names, name)
			v.pools[name] = true
		}
		pools[name] = append(pools[name], s)
		for i := range s.Devices {
			id := DeviceName{s.Driver, s.Pool, s.Devices[i].Name}
			if _, known := v.ids[id]; !known {
				v.ids[id] = int32(len(v.ids))
				v.nodes = append(v.nodes, "")
			}
		}
	}
	slices.SortFunc(names, func(a, b poolName) int {
		return cmp.Or(strings.Compare(a.driver, b.driver), strings.Compare(a.pool, b.pool))
	})
	changed := make(map[string]bool)
	for _, name := range names {
		of := pools[name]
		node := of[0].NodeName
		if node == "" || slices.ContainsFunc(of, func(s *api.ResourceSlice) bool { return s.NodeName != node }) {
			v.mixed = append(v.mixed, &mixedPool{driver: name.driver, name: name.pool, slices: of})
			continue
		}
		relevant := newest(of)
		p := v.build(name.driver, name.pool, relevant, relevant)
		p.kind = v.kindOf(p)
		for _, s := range of {
			for i := range s.Devices {
				v.nodes[v.ids[DeviceName{s.Driver, s.Pool, s.Devices[i].Name}]] = node
			}
		}
		v.local[node] = append(slices.Clip(v.local[node]), p)
		v.slices[node] = append(slices.Clip(v.slices[node]), of...)
		changed[node] = true
	}
	for node := range changed {
		inOrder(v.local[node])
	}
}

// SlicesOf returns the slices of the pools that a node has for itself. They must not be changed.
func (v *Inventory) SlicesOf(node string) []*api.ResourceSlice { return v.slices[node] }

// AppendKinds appends a key of the pools that a node has for itself: equal keys have equal devices, but for names.
func (v *Inventory) AppendKinds(b []byte, node string) []byte {
	b = binary.AppendUvarint(b, uint64(len(v.local[node])))
	for _, p := range v.local[node] {
		b = binary.AppendUvarint(b, uint64(p.kind))
	}
	return b
}

// NodeOf returns the name of the node that alone has a device, empty if other nodes may have it.
func (v *Inventory) NodeOf(id int32) string { return v.nodes[id] }

// Len returns the number of devices.
func (v *Inventory) Len() int { return len(v.ids) }

// Mixed reports whether nodes may share devices.
func (v *Inventory) Mixed() bool { return len(v.mixed) > 0 }

// inOrder sorts pools: those with binding conditions follow the others, by driver and name (pools_incubating.go GatherPools, v0.37).
func inOrder(pools []*Pool) {
	slices.SortFunc(pools, func(a, b *Pool) int {
		if a.binding != b.binding {
			if b.binding {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Driver, b.Driver), strings.Compare(a.Name, b.Name))
	})
}

// newest returns the slices of the newest generation.
func newest(of []*api.ResourceSlice) (out []*api.ResourceSlice) {
	for _, s := range of {
		switch {
		case len(out) == 0 || s.Generation > out[0].Generation:
			out = []*api.ResourceSlice{s}
		case s.Generation == out[0].Generation:
			out = append(out, s)
		}
	}
	return out
}

func sliceCount(s *api.ResourceSlice) int64 { return max(1, s.SliceCount) }

// build returns the pool of a node that can use the relevant slices, among all slices of their generation.
func (v *Inventory) build(driver, name string, relevant, all []*api.ResourceSlice) *Pool {
	p := &Pool{Driver: driver, Name: name}
	if int64(len(relevant)) == sliceCount(relevant[0]) {
		all = relevant
	} else if int64(len(all)) != sliceCount(relevant[0]) {
		p.Incomplete = true
		return p
	}
	var sets []api.CounterSet
	for _, s := range all {
		uses := slices.Contains(relevant, s)
		if len(s.CounterSets) > 0 {
			sets = append(sets, s.CounterSets...)
			continue
		}
		for i := range s.Devices {
			d := &Device{Device: &s.Devices[i], typ: v.typeOf(s.Devices[i].Type), slice: s, pool: p}
			d.ID = v.ids[d.Name()]
			if uses {
				p.binding = p.binding || len(d.BindingConditions) > 0
				p.Devices = append(p.Devices, d)
			} else {
				p.elsewhere = append(p.elsewhere, d)
			}
		}
	}
	if duplicate(p.Devices) || !p.count(sets) {
		return &Pool{Driver: driver, Name: name, Invalid: true}
	}
	return p
}

var noType = &deviceType{&api.DeviceType{}, -1}

func (v *Inventory) typeOf(name string) *deviceType { return cmp.Or(v.types[name], noType) }

func duplicate(devices []*Device) bool {
	seen := make(map[string]bool, len(devices))
	for _, d := range devices {
		if seen[d.Device.Name] {
			return true
		}
		seen[d.Device.Name] = true
	}
	return false
}

// count resolves the counters of the pool, and reports whether every one that a device consumes exists, and each set once.
func (p *Pool) count(sets []api.CounterSet) bool {
	type counter struct{ set, name string }
	at := make(map[counter]int)
	known := make(map[string]bool)
	for i := range sets {
		if known[sets[i].Name] {
			return false
		}
		known[sets[i].Name] = true
		for _, c := range sets[i].Counters {
			key := counter{sets[i].Name, c.Name}
			if _, twice := at[key]; !twice {
				at[key] = len(p.counters)
				p.counters = append(p.counters, c.Value)
			}
		}
	}
	for _, list := range [][]*Device{p.Devices, p.elsewhere} {
		for _, d := range list {
			for i := range d.ConsumesCounters {
				use := &d.ConsumesCounters[i]
				if !known[use.Name] {
					return false
				}
				seen := make(map[string]bool, len(use.Counters))
				for _, c := range use.Counters {
					n, found := at[counter{use.Name, c.Name}]
					if !found {
						return false
					}
					if !seen[c.Name] {
						d.uses = append(d.uses, counterUse{n, c.Value})
					}
					seen[c.Name] = true
				}
			}
		}
	}
	return true
}

// Node is a node that devices are allocated on.
type Node struct {
	Name string
	// Selects reports whether a selector selects the node.
	Selects func(*api.NodeSelector) bool
}

// has reports whether the node has a device or a slice with a node selection.
func (n *Node) has(name string, all bool, by *api.NodeSelector) bool {
	switch {
	case name != "":
		return name == n.Name
	case all:
		return true
	}
	return by != nil && n.Selects(by)
}

// Finder finds the pools of nodes, for one goroutine at a time.
type Finder struct {
	*Inventory
	built map[*mixedPool]map[string]*Pool // by the slices that a node can use
}

// NewFinder returns a finder.
func NewFinder(v *Inventory) *Finder { return &Finder{v, make(map[*mixedPool]map[string]*Pool)} }

// Pools returns the pools of a node in the order of the search (pools_incubating.go GatherPools, v0.37), and whether no other node can
// use them. They must not be changed.
func (v *Finder) Pools(n *Node) (pools []*Pool, alone bool) {
	local := v.local[n.Name]
	var more []*Pool
	for _, m := range v.mixed {
		if p := v.poolOn(m, n); p != nil {
			more = append(more, p)
		}
	}
	if len(more) == 0 {
		return local, true
	}
	out := slices.Concat(local, more)
	inOrder(out)
	return out, false
}

// poolOn returns what a node can use of a mixed pool; nil for nothing.
func (v *Finder) poolOn(m *mixedPool, n *Node) *Pool {
	var relevant []*api.ResourceSlice
	key := make([]byte, 0, len(m.slices))
	for _, s := range m.slices {
		on := n.has(s.NodeName, s.AllNodes, s.NodeSelector)
		if s.NodeName == "" && !s.AllNodes && s.NodeSelector == nil && s.PerDeviceNodeSelection {
			on = slices.ContainsFunc(s.Devices, func(d api.Device) bool { return n.has(d.NodeName, d.AllNodes, d.NodeSelector) })
		}
		if on {
			relevant = append(relevant, s)
		}
		key = append(key, flag(on))
	}
	if relevant = newest(relevant); len(relevant) == 0 {
		return nil
	}
	if p, known := v.built[m][string(key)]; known {
		return p
	}
	var all []*api.ResourceSlice
	obsolete := false
	for _, s := range m.slices {
		obsolete = obsolete || s.Generation > relevant[0].Generation
		if s.Generation == relevant[0].Generation {
			all = append(all, s)
		}
	}
	var p *Pool
	if !obsolete || int64(len(relevant)) == sliceCount(relevant[0]) {
		p = v.build(m.driver, m.name, relevant, all)
	}
	if v.built[m] == nil {
		v.built[m] = make(map[string]*Pool)
	}
	v.built[m][string(key)] = p
	return p
}
