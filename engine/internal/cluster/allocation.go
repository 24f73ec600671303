package cluster

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// devicesOf is what the request allocated, and what it remembers about devices.
type devicesOf struct {
	finder *allocate.Finder // nil until needed
	taken  *allocate.Taken
	// changes count the allocations of devices that a node has alone, sharedChange of devices that several nodes can use.
	changes      []uint32
	sharedChange uint32
	// claims are the claims that the request changed.
	claims map[ClaimName]claimNow
	// held are the claims of assumed pods, by their index.
	held     map[int][]held
	searches map[string]*searches // by the key of a demand
	made     []madeGrant
	steps    int // that searches of the request may still take
	// serving are the devices that serve extended resources, by class.
	serving map[string]*Serving
	// withheld is set if the profile lacks DynamicResources: no claim gets devices.
	withheld bool
	// undecided is set once an outcome was used that no search decided, since the steps were renewed.
	undecided bool

	// selected are the nodes of selectors.
	selected map[*api.NodeSelector]nodeset.Set
	// demand is the demand of the pod that was requested last, as of a number of changes of claims.
	demand       *DeviceDemand
	demandOf     *Pending
	demandAt     int
	claimChanges int
	last         lastAllocation
	allChanges   int // of claims and devices
}

// grant is the devices of a claim.
type grant struct {
	// node and by say where the claim is available: on a node alone, or on the nodes of all selectors.
	node    string
	by      []*api.NodeSelector
	devices []granted
	failed  bool // a binding condition
}

type granted struct {
	id int32 // noDevice for a device that no slice has
	api.DeviceAllocation
}

const noDevice = -1

// searches are the outcomes of searches for demands that differ in names alone.
type searches struct {
	problems map[string]*allocate.Problem // by the resources that devices serve
	byNode   []searched
	byKey    map[string]*allocate.Result
}

// searched is the outcome on a node, as of a number of changes.
type searched struct {
	*allocate.Result
	local, shared uint32
	// grants are the devices of the claims of an outcome, the last one from which pods got devices.
	grants   []*grant
	grantsOf *allocate.Result
}

func (at *searched) set(r *allocate.Result, local, shared uint32) {
	at.Result, at.local, at.shared = r, local, shared
}

// maxDeviceSteps bounds the steps of all searches of a request, without the free steps of each search. BenchmarkDevicesUndecided, which takes
// all of them, takes 1.7 s.
const maxDeviceSteps = 1 << 23

// startDevices prepares searches.
func (s *State) startDevices() *devicesOf {
	d := &s.devicesOf
	if d.finder == nil {
		d.taken, d.steps = cmp.Or(d.taken, s.devices.claimed().Taken), cmp.Or(d.steps, maxDeviceSteps)
		d.finder = allocate.NewFinder(s.devices.Inventory())
		d.changes, d.searches = make([]uint32, s.Len()), make(map[string]*searches)
	}
	return d
}

// RenewSteps lets searches for devices take as many steps again as at the beginning of a request, so that questions which share a state have the
// same answers in any order.
func (s *State) RenewSteps() { s.devicesOf.steps, s.devicesOf.undecided = maxDeviceSteps, false }

// WithholdDevices sets whether the claims of pods that are assumed get no devices.
func (s *State) WithholdDevices(withhold bool) { s.devicesOf.withheld = withhold }

// onOtherNodes returns what stays of d in a state with other nodes or labels.
func (d *devicesOf) onOtherNodes() devicesOf {
	return devicesOf{taken: d.taken, claims: d.claims, held: d.held, made: d.made, steps: d.steps, withheld: d.withheld}
}

// Undecided returns whether a pod demands devices, if a search for devices was not decided since the steps were renewed; nil if all were.
func (s *State) Undecided() func(*api.PodSpec) bool {
	if !s.devicesOf.undecided {
		return nil
	}
	return s.Demands
}

// allocationOf returns the devices that a claim has; nil for none.
func (s *State) allocationOf(c *DeviceClaim) *grant {
	if c.Object == nil {
		return nil
	}
	return s.claimNow(c.Name).grant
}

// available returns the nodes that a node selector selects.
func (s *State) available(by *api.NodeSelector) nodeset.Set {
	nodes := s.devicesOf.selected[by]
	if nodes == nil {
		if nodes = s.Selected(by); s.devicesOf.selected == nil {
			s.devicesOf.selected = make(map[*api.NodeSelector]nodeset.Set)
		}
		s.devicesOf.selected[by] = nodes
	}
	return nodes
}

// Allocation is where the claims of a pod have or can get devices (dynamicresources.go Filter, v1.37).
type Allocation struct {
	// Unavailable are the nodes where an allocated claim cannot be used, and where the rest would succeed.
	Unavailable nodeset.Set
	// Impossible are the nodes without devices for the claims, Invalid the ones with invalid pools. Unserved lack an extended
	// resource.
	Impossible, Invalid, Unserved nodeset.Set
	// Errors are the nodes whose search fails, by kube-scheduler's text.
	Errors map[string]nodeset.Set
	// Undecided are the nodes whose search met a limit, or an expression that was not evaluated.
	Undecided nodeset.Set
	// Scores are by node; nil if no claim has a prioritized list, or none gets devices.
	Scores []int64
}

// AllocationOf returns where the claims of a pod have or can get devices; nil if it has none, or is rejected as a whole. The result must
// not be changed.
func (s *State) AllocationOf(p *Pending) *Allocation {
	d := s.DemandOf(p)
	if d == nil || d.Rejection != "" {
		return nil
	}
	of := s.startDevices()
	if last := &of.last; last.pod != p || last.at != of.allChanges {
		of.last = lastAllocation{p, of.allChanges, s.findAllocation(d)}
	}
	of.undecided = of.undecided || !of.last.Undecided.Empty()
	return of.last.Allocation
}

// lastAllocation is the last one that was requested, and the pod and the number of changes that it is for.
type lastAllocation struct {
	pod *Pending
	at  int
	*Allocation
}

func (s *State) findAllocation(d *DeviceDemand) *Allocation {
	a := &Allocation{
		Unavailable: nodeset.New(s.Len()), Impossible: nodeset.New(s.Len()), Invalid: nodeset.New(s.Len()), Unserved: nodeset.New(s.Len()),
		Undecided: nodeset.New(s.Len()), Errors: make(map[string]nodeset.Set),
	}
	available := s.usable(d)
	allocated, wanting := s.allocatedScore(d)
	for node := range uint32(s.Len()) {
		if node%256 == 0 && s.Ended() {
			break
		}
		served, fits := s.servedOn(d, node)
		if !fits {
			a.Unserved.Add(node)
			continue
		}
		if len(d.Claims)+len(served) == 0 {
			continue
		}
		of := s.searchOn(d, served, node)
		switch of.Status {
		case allocate.Impossible:
			a.Impossible.Add(node)
		case allocate.InvalidPools:
			a.Invalid.Add(node)
		case allocate.Undecided:
			a.Undecided.Add(node)
		case allocate.Failed:
			if a.Errors[of.Error] == nil {
				a.Errors[of.Error] = nodeset.New(s.Len())
			}
			a.Errors[of.Error].Add(node)
		case allocate.Found:
			if !available(node) {
				a.Unavailable.Add(node)
			}
			score := of.Score
			if wanting || len(d.Extended) > 0 {
				score += allocated // kube-scheduler scores if a claim has no devices, also one for extended resources of a device plugin
			}
			if score > 0 && a.Scores == nil {
				a.Scores = make([]int64, s.Len())
			}
			if a.Scores != nil {
				a.Scores[node] = score
			}
		}
	}
	return a
}

// usable returns whether a pod's allocated claims can be used on a node.
func (s *State) usable(d *DeviceDemand) func(node uint32) bool {
	var all []func(uint32) bool
	for i := range d.Claims {
		if g := s.allocationOf(&d.Claims[i]); g != nil {
			all = append(all, s.usableOn(g))
		}
	}
	return func(node uint32) bool {
		return !slices.ContainsFunc(all, func(usable func(uint32) bool) bool { return !usable(node) })
	}
}

// usableOn returns whether the devices of a claim can be used on a node.
func (s *State) usableOn(g *grant) func(node uint32) bool {
	if g.failed {
		return func(uint32) bool { return false }
	}
	var all []nodeset.Set
	for _, by := range g.by {
		all = append(all, s.available(by))
	}
	if g.node != "" {
		only := nodeset.New(s.Len())
		if node, found := s.Node(g.node); found {
			only.Add(node)
		}
		all = append(all, only)
	}
	return func(node uint32) bool {
		return !slices.ContainsFunc(all, func(n nodeset.Set) bool { return !n.Has(node) })
	}
}

// allocatedScore returns the score of the claims that have devices already, the same for all nodes, and whether others have none.
func (s *State) allocatedScore(d *DeviceDemand) (sum int64, wanting bool) {
	for i := range d.Claims {
		c := &d.Claims[i]
		g := s.allocationOf(c)
		if g == nil {
			wanting = true
			continue
		}
		var requests []string
		for _, of := range g.devices {
			requests = append(requests, of.Request)
		}
		sum += allocate.ScoreOf(c.Spec, requests)
	}
	return sum, wanting
}

// servedOn returns the extended resources of a pod that devices serve on a node, and whether the node has the others
// (extendeddynamicresources.go filterExtendedResources, v1.37).
func (s *State) servedOn(d *DeviceDemand, node uint32) (served []string, fits bool) {
	for _, q := range d.Extended {
		var amount Amount
		column := s.Resources.Scalars[q.Resource]
		if i, found := column.Find(node); found {
			amount = column.Values[i]
		}
		if s.devices.Serving(q.Resource) != nil && amount.Allocatable == 0 {
			served = append(served, q.Resource)
		} else if !amount.Listed {
			return nil, false
		}
	}
	return served, true
}

// searchOn returns the outcome of allocating on a node. Outcomes stay valid until devices change that the node can use.
func (s *State) searchOn(d *DeviceDemand, served []string, node uint32) *searched {
	of := s.devicesOf.searches[d.key]
	if of == nil {
		of = &searches{
			problems: make(map[string]*allocate.Problem), byNode: make([]searched, s.Len()), byKey: make(map[string]*allocate.Result),
		}
		s.devicesOf.searches[d.key] = of
	}
	at := &of.byNode[node]
	local, shared := s.devicesOf.changes[node], s.devicesOf.sharedChange
	if at.Result != nil && at.local == local && at.shared == shared && at.Status != allocate.Failed && !at.Cut {
		return at
	}
	n := s.deviceNode(node)
	pools, alone := s.devicesOf.finder.Pools(n)
	var key string
	if alone {
		key = string(s.devicesOf.taken.Key([]byte(strings.Join(served, " ")), pools))
		if known := of.byKey[key]; known != nil {
			at.set(known, local, shared)
			return at
		}
	}
	problem := of.problems[strings.Join(served, " ")]
	if problem == nil {
		problem = s.problem(d, served)
		of.problems[strings.Join(served, " ")] = problem
	}
	result := allocate.Search(problem, n, pools, s.devicesOf.taken, &s.devicesOf.steps)
	if result.Status == allocate.Failed { // the text names the claims of the pod, and not of the first one like it
		result = allocate.Search(s.problem(d, served), n, pools, s.devicesOf.taken, &s.devicesOf.steps)
	} else if alone && !result.Cut {
		of.byKey[key] = &result
	}
	at.set(&result, local, shared)
	return at
}
