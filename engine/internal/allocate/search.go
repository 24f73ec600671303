package allocate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Status is the outcome of an allocation on a node.
type Status uint8

// The outcomes.
const (
	// Impossible: no devices of the node satisfy the claims.
	Impossible Status = iota
	// Found: the claims have devices.
	Found
	// InvalidPools: as Impossible, and a pool is invalid.
	InvalidPools
	// Failed: kube-scheduler ends the cycle of the pod with an error.
	Failed
	// Undecided: the search met its limit, or an expression that was not evaluated.
	Undecided
)

// Choice is a device that a claim gets.
type Choice struct {
	// Pool and Device are indexes into the pools of the node, and into the devices of the pool.
	Pool, Device int
	Request      string // with the sub-request
	Admin        bool
	Shared       bool
	Consumed     []api.CapacityRequest

	at at
}

// Result is the outcome of an allocation. It is immutable.
type Result struct {
	Status Status
	// Claims are the devices by claim, if they are found.
	Claims [][]Choice
	// Score is the sum of 8 less the index of the chosen sub-request over the requests with a list (dynamicresources.go computeScore).
	Score int64
	// Error is kube-scheduler's text if the status is Failed.
	Error string
	// Cut reports whether the request had fewer steps than the search may take, and they ended it.
	Cut bool
}

// MaxSteps bounds the devices that a search looks at on one node. kube-scheduler ends a search after 10 seconds.
const MaxSteps = 1 << 20

var (
	errUndecided = errors.New("not decided")
	// errTooMany is allocator_incubating.go errAllocationResultMaxSizeExceeded.
	errTooMany = errors.New("allocation max size exceeded")
)

// search is an allocation on one node (allocator_incubating.go allocator, v0.37).
type search struct {
	problem *Problem
	node    *Node
	pools   []*Pool
	taken   *Taken
	limit   int
	steps   int // left

	all    [][][][]place              // by claim, request and sub-request: the devices of a request for all
	made   [][]Choice                 // by claim
	inUse  map[int32]uint64           // devices that the search chose, with the claims, modulo 64
	shares map[int32]*use             // capacities that the search chose
	used   map[*Pool]*counters        // of pools with counters
	values [][][]*api.DeviceAttribute // by claim and constraint: the values of the chosen devices

	failures failures
}

// place is where a device is.
type place struct{ pool, device int }

type counters struct{ available, consumed []int64 }

// Search allocates devices for claims on a node. It subtracts its steps from the steps of the request, except for about as many as the node
// has devices, which a search takes that finds devices at once.
func Search(p *Problem, node *Node, pools []*Pool, taken *Taken, steps *int) Result {
	return run(p, node, pools, taken, steps, rememberAfter)
}

// run is Search with the number of steps after which it remembers failures.
func run(p *Problem, node *Node, pools []*Pool, taken *Taken, steps *int, after int) Result {
	free := MaxResults
	for _, p := range pools {
		free += len(p.Devices)
	}
	limit := min(MaxSteps, *steps+free)
	s := &search{
		problem: p, node: node, pools: pools, taken: taken, limit: limit, steps: limit,
		all: make([][][][]place, len(p.claims)), made: make([][]Choice, len(p.claims)),
		inUse: make(map[int32]uint64), shares: make(map[int32]*use), used: make(map[*Pool]*counters),
		values: make([][][]*api.DeviceAttribute, len(p.claims)), failures: failures{after: after},
	}
	defer func() { *steps -= max(0, limit-max(0, s.steps)-free) }()
	done, err := false, s.validate()
	if err == nil {
		done, err = s.one(at{}, false, place{})
	}
	switch {
	case errors.Is(err, errUndecided):
		return Result{Status: Undecided, Cut: s.steps < 0 && limit < MaxSteps}
	case err != nil:
		return Result{Status: Failed, Error: err.Error()}
	case done:
		return Result{Status: Found, Claims: s.made, Score: s.score()}
	}
	if slices.ContainsFunc(pools, func(p *Pool) bool { return p.Invalid }) {
		return Result{Status: InvalidPools}
	}
	return Result{Status: Impossible}
}

// score returns the score of what the search found.
func (s *search) score() (sum int64) {
	for i := range s.problem.claims {
		requests := make([]string, len(s.made[i]))
		for j := range s.made[i] {
			requests[j] = s.made[i][j].Request
		}
		sum += ScoreOf(s.problem.claims[i].spec, requests)
	}
	return sum
}

// ScoreOf returns the score of a claim whose devices are for the given requests: a request with a list counts 8 less the index of the
// chosen sub-request (dynamicresources.go computeScore, v1.37).
func ScoreOf(spec *api.ResourceClaimSpec, requests []string) (sum int64) {
	const most = 8 // FirstAvailableDeviceRequestMaxSize
	for i := range spec.Requests {
		r := &spec.Requests[i]
		if r.Exactly != nil {
			continue
		}
		for k := range r.FirstAvailable {
			if slices.Contains(requests, r.Name+"/"+r.FirstAvailable[k].Name) {
				sum += int64(most - k)
			}
		}
	}
	return sum
}

// validate finds the devices of requests for all, and rejects claims for too many devices (allocator_incubating.go Allocate and
// validateDeviceRequest, v0.37).
func (s *search) validate() error {
	for i := range s.problem.claims {
		c := &s.problem.claims[i]
		least := int64(0)
		s.all[i] = make([][][]place, len(c.requests))
		s.values[i] = make([][]*api.DeviceAttribute, len(c.constraints))
		for j, subs := range c.requests {
			s.all[i][j] = make([][]place, len(subs))
			devices := int64(math.MaxInt64)
			name := ""
			for k := range subs {
				r := &subs[k]
				if name = r.parent; name == "" {
					name = r.name
				}
				if r.class == nil {
					return fmt.Errorf("claim %s, request %s: could not retrieve device class %s: deviceclass.resource.k8s.io %q not found",
						c.name, r.name, r.DeviceClassName, r.DeviceClassName)
				}
				n := r.count
				if r.All {
					found, err := s.selectAll(c, r)
					if err != nil {
						return err
					}
					s.all[i][j][k], n = found, int64(len(found))
				}
				devices = min(devices, n)
			}
			if devices > MaxResults-least {
				return fmt.Errorf("claim %s, request %s: adding %d devices exceeds the claim limit of %d, with %d already accounted for",
					c.name, name, devices, MaxResults, least)
			}
			least += devices
		}
	}
	return nil
}

// selectAll returns all devices of the node that a request selects.
func (s *search) selectAll(c *claim, r *request) (out []place, err error) {
	for i, p := range s.pools {
		state := ""
		switch {
		case p.Incomplete:
			state = "being updated"
		case p.Invalid:
			state = "invalid"
		}
		if state != "" {
			return nil, fmt.Errorf("claim %s, request %s: asks for all devices, but resource pool %s is currently %s",
				c.name, r.name, p.Driver+"/"+p.Name, state)
		}
		for j, d := range p.Devices {
			selected, err := s.selects(r, d)
			if err != nil {
				return nil, err
			}
			if !selected {
				continue
			}
			if d.room(r) {
				out = append(out, place{i, j})
			}
		}
	}
	return out, nil
}

// selects reports whether a request selects a device of the node, whoever has it (allocator_incubating.go isSelectable, v0.37).
func (s *search) selects(r *request, d *Device) (bool, error) {
	if ok, err := r.matches(d); err != nil || !ok {
		return false, err
	}
	return !d.slice.PerDeviceNodeSelection || s.node.has(d.NodeName, d.AllNodes, d.NodeSelector), nil
}

// at identifies one device of a request or sub-request.
type at struct{ claim, request, sub, device int }

// one allocates one device and all that follow (allocator_incubating.go allocateOne, v0.37). inSub is set within a sub-request.
func (s *search) one(r at, inSub bool, from place) (bool, error) {
	if s.steps--; s.steps < 0 {
		return false, errUndecided
	}
	if r.claim >= len(s.problem.claims) {
		return true, nil
	}
	c := &s.problem.claims[r.claim]
	if r.request >= len(c.requests) {
		done, err := s.one(at{claim: r.claim + 1}, false, place{})
		if errors.Is(err, errTooMany) {
			return false, nil
		}
		return done, err
	}
	subs := c.requests[r.request]
	if !inSub && (len(subs) == 0 || subs[0].parent != "") {
		return s.firstAvailable(r, len(subs))
	}
	of := &subs[r.sub]
	wanted := of.count
	if of.All {
		if wanted = int64(len(s.all[r.claim][r.request][r.sub])); wanted == 0 {
			return false, nil
		}
	}
	if int64(r.device) >= wanted {
		return s.one(at{claim: r.claim, request: r.request + 1}, false, place{})
	}
	if wanted-int64(r.device) > int64(MaxResults-len(s.made[r.claim])) {
		return false, errTooMany
	}
	next := r
	next.device++
	if of.All {
		where := s.all[r.claim][r.request][r.sub][r.device]
		undo, err := s.take(r, of, where, true)
		if err != nil || undo == nil {
			return false, err
		}
		done, err := s.one(next, inSub, place{})
		if err != nil || !done {
			undo()
			return false, err
		}
		return true, nil
	}
	return s.any(r, of, inSub, from)
}

// firstAvailable allocates the first sub-request that can be had.
func (s *search) firstAvailable(r at, subs int) (bool, error) {
	tooMany := true
	for k := range subs {
		r.sub = k
		done, err := s.one(r, true, place{})
		if errors.Is(err, errTooMany) {
			continue
		}
		tooMany = false
		if err != nil {
			return false, err
		}
		if done {
			return true, nil
		}
	}
	if tooMany {
		return false, errTooMany
	}
	return false, nil
}

// any tries one device after the other, from a place on.
func (s *search) any(r at, of *request, inSub bool, from place) (bool, error) {
	known, key := s.failed(r, inSub, from)
	if known {
		return false, nil
	}
	next := r
	next.device++
	var tried []*Device
	for i := from.pool; i < len(s.pools); i++ {
		p := s.pools[i]
		first := 0
		if i == from.pool {
			first = from.device
		}
		for j := first; j < len(p.Devices); j++ {
			if s.steps--; s.steps < 0 {
				return false, errUndecided
			}
			d := p.Devices[j]
			if of.admin && s.takenBy(d, r.claim) || !of.admin && s.isTaken(d) || s.hasTwin(d, tried) {
				continue
			}
			if ok, err := s.selects(of, d); err != nil {
				return false, err
			} else if !ok {
				continue
			}
			if !s.room(of, d) {
				continue
			}
			undo, err := s.take(r, of, place{i, j}, false)
			if err != nil {
				return false, err
			}
			if undo == nil {
				continue
			}
			done, err := s.one(next, inSub, place{i, j + 1})
			if err == nil && done {
				return true, nil
			}
			undo()
			if err != nil {
				return false, err
			}
			if s.remembers() && !s.problem.forAll && !of.admin {
				tried = append(tried, d)
			}
		}
	}
	s.failures.remember(key)
	return false, nil
}
