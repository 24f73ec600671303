package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of an explanation: the requests of devices that are looked at, the searches without constraints, and the devices that each of
// them looks at.
const (
	maxExplainedDevices = 1 << 22
	maxRelaxedSearches  = 64
	maxRelaxedSteps     = 1 << 14
)

// ExplainDevices adds why the claims of a pod have no devices on candidates.
func (s *State) ExplainDevices(p *Pending, candidates nodeset.Set, e *verdict.Explanation) {
	a, d := s.AllocationOf(p), s.DemandOf(p)
	if a == nil {
		return
	}
	s.explainUnusable(d, candidates, e)
	rejected := a.Impossible.Clone()
	rejected.Or(a.Invalid)
	rejected.And(candidates)
	if rejected.Empty() {
		return
	}
	x := &deviceExplainer{
		State: s, demand: d, rows: make(map[string]int), known: make(map[string]*explainedNode), totals: make(map[string]*deviceTotals),
		left: maxExplainedDevices, relaxed: maxRelaxedSearches,
	}
	for node := range rejected.All() {
		if x.left <= 0 || s.Ended() || !s.Explain(1) {
			e.Truncated = true
			break
		}
		x.explain(node)
	}
	for i := range x.shortages {
		if !s.Explain(verdict.EntryCost * len(x.shortages[i].Requests)) {
			e.Truncated, x.shortages = true, x.shortages[:i]
			break
		}
	}
	e.Devices.Shortages = x.shortages
	for _, t := range x.order {
		e.Devices.Requests = append(e.Devices.Requests, t.counts())
	}
	e.Devices.Taken = s.takenDevices(x.taken, e)
}

// explainUnusable adds the claims of a pod that have devices which candidates cannot use.
func (s *State) explainUnusable(d *DeviceDemand, candidates nodeset.Set, e *verdict.Explanation) {
	for i := range d.Claims {
		c := &d.Claims[i]
		g := s.allocationOf(c)
		if g == nil {
			continue
		}
		usable := s.usable(&DeviceDemand{Claims: d.Claims[i : i+1]})
		of := verdict.UnusableClaim{Namespace: c.Name.Namespace, Claim: c.Name.Name}
		for node := range candidates.All() {
			if !usable(node) {
				of.Nodes = append(of.Nodes, node)
			}
		}
		for j := range g.devices {
			of.Devices = append(of.Devices, g.devices[j].DeviceAllocation)
		}
		if len(of.Nodes) > 0 && s.Explain(verdict.EntryCost+len(of.Nodes)) {
			e.Devices.Unusable = append(e.Devices.Unusable, of)
		}
	}
}

// deviceExplainer counts devices of nodes by why the requests of a pod cannot have them.
type deviceExplainer struct {
	*State
	demand    *DeviceDemand
	shortages []verdict.DeviceShortage
	rows      map[string]int            // by what nodes of a shortage share
	known     map[string]*explainedNode // of nodes with devices of their own, by the key of the search
	totals    map[string]*deviceTotals  // by claim and request
	order     []*deviceTotals
	taken     nodeset.Set // devices that would help if they were free
	left      int         // requests of devices that may be looked at
	relaxed   int         // searches that may be made
}

// explainedNode is what nodes with equal devices share.
type explainedNode struct {
	row   int
	taken []devicePlace
	// overlapped are the pools with devices whose counters taken devices use up.
	overlapped map[int]bool
	total      []*deviceTotals
}

type devicePlace struct{ pool, device int }

// deviceTotals is the counts of a request, each device once.
type deviceTotals struct {
	verdict.DeviceRequestCounts
	excluded map[string]*verdict.ExcludedDevices
	seen     map[int32]bool // devices that several nodes can use
}

// counts returns the counts in order.
func (t *deviceTotals) counts() verdict.DeviceRequestCounts {
	out := t.DeviceRequestCounts
	for _, x := range t.excluded {
		out.Excluded = append(out.Excluded, *x)
	}
	slices.SortFunc(out.Excluded, func(a, b verdict.ExcludedDevices) int {
		return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Index, b.Index), strings.Compare(a.Capacity, b.Capacity),
			strings.Compare(fmt.Sprint(a.Taint), fmt.Sprint(b.Taint)))
	})
	return out
}

func (t *deviceTotals) add(x verdict.ExcludedDevices, devices int) {
	t.Devices += devices
	if x.Cause == 0 {
		t.Available += devices
		return
	}
	key := fmt.Sprint(x.Cause, x.Index, x.Capacity, x.Taint)
	if t.excluded[key] == nil {
		t.excluded[key] = &x
	}
	t.excluded[key].Devices += devices
}

// merge adds the counts of another node whose devices are its own.
func (t *deviceTotals) merge(of *verdict.DeviceRequestCounts) {
	t.add(verdict.ExcludedDevices{}, of.Available)
	for _, x := range of.Excluded {
		devices := x.Devices
		x.Devices = 0
		t.add(x, devices)
	}
}

// explain adds a node.
func (x *deviceExplainer) explain(node uint32) {
	served, _ := x.servedOn(x.demand, node)
	n := x.deviceNode(node)
	pools, alone := x.devicesOf.finder.Pools(n)
	key := ""
	if alone {
		key = string(x.devicesOf.taken.Key([]byte(strings.Join(served, " ")+"\x00"), pools))
	}
	known := x.known[key]
	if !alone || known == nil {
		known = x.count(served, n, pools)
		x.known[key] = known
	} else {
		row := &x.shortages[known.row]
		for i, t := range known.total {
			t.merge(&row.Requests[i])
		}
	}
	row := &x.shortages[known.row]
	row.Nodes = append(row.Nodes, node)
	for _, at := range known.taken {
		x.taken.Add(uint32(pools[at.pool].Devices[at.device].ID))
	}
	for i := range known.overlapped {
		for _, d := range pools[i].All() {
			if len(d.ConsumesCounters) > 0 {
				x.taken.Add(uint32(d.ID))
			}
		}
	}
}

// count counts the devices of a node.
func (x *deviceExplainer) count(served []string, n *allocate.Node, pools []*allocate.Pool) *explainedNode {
	if x.taken == nil {
		x.taken = nodeset.New(x.devices.Inventory().Len())
	}
	problem := x.problem(x.demand, served)
	explainer := allocate.NewExplainer(problem, n, pools, x.devicesOf.taken)
	out, row := &explainedNode{overlapped: make(map[int]bool)}, verdict.DeviceShortage{}
	requests := problem.Requests()
	resources := x.resourcesOf(served)
	for i, r := range requests {
		counts := verdict.DeviceRequestCounts{Request: r.Name, Class: r.Class, Requested: r.Count}
		if counts.PodClaim = x.entry(r.Claim); counts.PodClaim == "" {
			counts.Resource = resources[r.Name]
		}
		total := x.totalOf(&counts)
		here := &deviceTotals{DeviceRequestCounts: counts, excluded: make(map[string]*verdict.ExcludedDevices)}
		for j, pool := range pools {
			for k, device := range pool.Devices {
				if x.left--; !explainer.Has(device) {
					continue
				}
				cause := explainer.Cause(i, device)
				here.add(cause, 1)
				if x.devices.Inventory().NodeOf(device.ID) != "" || !total.seen[device.ID] {
					total.seen[device.ID] = true
					total.add(cause, 1)
				}
				switch {
				case cause.Cause == verdict.DeviceCountersUsed:
					out.overlapped[j] = true
				case cause.Cause >= verdict.DeviceTaken:
					out.taken = append(out.taken, devicePlace{j, k})
				}
			}
		}
		row.Requests, out.total = append(row.Requests, here.counts()), append(out.total, total)
	}
	for _, p := range pools {
		switch {
		case p.Incomplete:
			row.Incomplete++
		case p.Invalid:
			row.Invalid++
		}
	}
	row.Constraints = x.unmet(problem, n, pools, row.Requests)
	key := fmt.Sprint(row)
	at, found := x.rows[key]
	if !found {
		at = len(x.shortages)
		x.rows[key], x.shortages = at, append(x.shortages, row)
	}
	out.row = at
	return out
}

// totalOf returns the counts of a request for all nodes.
func (x *deviceExplainer) totalOf(r *verdict.DeviceRequestCounts) *deviceTotals {
	key := r.PodClaim + "\x00" + r.Resource + "\x00" + r.Request
	if x.totals[key] == nil {
		x.totals[key] = &deviceTotals{DeviceRequestCounts: *r, excluded: make(map[string]*verdict.ExcludedDevices), seen: make(map[int32]bool)}
		x.order = append(x.order, x.totals[key])
	}
	return x.totals[key]
}

// entry returns the entry of the pod for a claim of a problem, empty for the claim of extended resources.
func (x *deviceExplainer) entry(claim int) string {
	for i := range x.demand.Claims {
		if c := &x.demand.Claims[i]; x.allocationOf(c) == nil {
			if claim == 0 {
				return c.Entry
			}
			claim--
		}
	}
	return ""
}

// resourcesOf returns the extended resources of requests by their names.
func (x *deviceExplainer) resourcesOf(served []string) map[string]string {
	out := make(map[string]string)
	for i := range served {
		for _, r := range x.extendedRequests(x.demand.spec, served[i:i+1]) {
			out[r.Name] = served[i]
		}
	}
	return out
}

// unmet returns the constraints without which the node has devices for all claims: each alone, or else all together. None are looked for if
// a request has too few devices anyway.
func (x *deviceExplainer) unmet(p *allocate.Problem, n *allocate.Node, pools []*allocate.Pool, of []verdict.DeviceRequestCounts) (out []verdict.UnmetConstraint) {
	all := p.Constraints()
	if len(all) == 0 || slices.ContainsFunc(of, func(r verdict.DeviceRequestCounts) bool {
		return !strings.Contains(r.Request, "/") && int64(r.Available) < max(1, r.Requested)
	}) {
		return nil
	}
	found := func(without ...allocate.Constraint) bool {
		if x.relaxed--; x.relaxed < 0 {
			return false
		}
		steps := maxRelaxedSteps
		result := allocate.Search(p.Without(without...), n, pools, x.devicesOf.taken, &steps)
		return result.Status == allocate.Found
	}
	add := func(c allocate.Constraint) {
		out = append(out, verdict.UnmetConstraint{PodClaim: x.entry(c.Claim), Index: c.Index, Attribute: c.Attribute, Distinct: c.Distinct})
	}
	for _, c := range all {
		if found(c) {
			add(c)
		}
	}
	if len(out) == 0 && len(all) > 1 && found(all...) {
		for _, c := range all {
			add(c)
		}
	}
	return out
}
