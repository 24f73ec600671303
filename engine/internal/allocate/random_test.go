package allocate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestFailuresChangeNothing compares searches that remember what failed from their first step on with searches that remember nothing.
func TestFailuresChangeNothing(t *testing.T) {
	seeds := uint64(30_000)
	if testing.Short() {
		seeds = 3_000
	}
	outcomes, saved := map[Status]int{}, 0
	for seed := range seeds {
		node, pools, taken, p := randomProblem(rand.New(rand.NewPCG(seed, 1)))
		plain, with := MaxSteps, MaxSteps
		want := run(p, node, pools, taken, &plain, MaxSteps)
		if want.Status == Undecided {
			continue
		}
		got := run(p, node, pools, taken, &with, 0)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
		}
		outcomes[want.Status]++
		if with > plain {
			saved++
		}
	}
	t.Log(outcomes, "fewer steps in", saved)
	if outcomes[Impossible] == 0 || outcomes[Found] == 0 || outcomes[Failed] == 0 || saved == 0 {
		t.Errorf("too little is compared: %v, fewer steps in %d", outcomes, saved)
	}
}

// randomProblem draws a node with few devices of few kinds, some of them taken, and claims that compete for them.
func randomProblem(rng *rand.Rand) (*Node, []*Pool, *Taken, *Problem) {
	chance := func(p float64) bool { return rng.Float64() < p }
	types := []*api.DeviceType{
		{Name: "a", Attributes: []api.DeviceAttribute{{Name: "model", Value: "a"}}, Capacities: []api.DeviceCapacity{{Name: "memory", Value: 8000}}},
		{Name: "b", Attributes: []api.DeviceAttribute{{Name: "model", Value: "b"}}},
		{Name: "shared", AllowMultipleAllocations: true, Attributes: []api.DeviceAttribute{{Name: "model", Value: "b"}}, Capacities: []api.DeviceCapacity{{
			Name: "memory", Value: 4000, Policy: &api.CapacityPolicy{Default: new(int64(1000)), ValidRange: &api.CapacityRange{Min: 1000, Step: new(int64(1000))}},
		}}},
	}
	var list []*api.ResourceSlice
	var names []DeviceName
	for i := range 1 + rng.IntN(2) {
		s := &api.ResourceSlice{Name: fmt.Sprint("s", i), Driver: "d", Pool: fmt.Sprint("p", i), NodeName: "n", SliceCount: 2}
		for j := range 1 + rng.IntN(5) {
			d := api.Device{Name: fmt.Sprint("d", j), Type: types[min(2, rng.IntN(5)/2)].Name}
			if chance(0.5) {
				d.Attributes = []api.DeviceAttribute{{Name: "index", Value: fmt.Sprint(rng.IntN(3))}}
			}
			if chance(0.3) {
				d.ConsumesCounters = []api.CounterSet{{Name: "set", Counters: []api.Counter{{Name: "lanes", Value: int64(1 + rng.IntN(2))}}}}
			}
			if chance(0.1) {
				d.Taints = []api.DeviceTaint{{Key: "k", Effect: api.DeviceNoSchedule}}
			}
			s.Devices, names = append(s.Devices, d), append(names, DeviceName{Driver: "d", Pool: s.Pool, Device: d.Name})
		}
		list = append(list, s, &api.ResourceSlice{
			Name: fmt.Sprint("t", i), Driver: "d", Pool: s.Pool, NodeName: "n", SliceCount: 2,
			CounterSets: []api.CounterSet{{Name: "set", Counters: []api.Counter{{Name: "lanes", Value: int64(1 + rng.IntN(4))}}}},
		})
	}
	v := NewInventory(types, list)
	taken := NewTaken(v)
	for _, n := range names {
		if id, found := v.Find(n); found && chance(0.1) {
			taken.Take(id, &api.DeviceAllocation{})
		}
	}
	request := func() api.ExactDeviceRequest {
		r := api.ExactDeviceRequest{DeviceClassName: "any", Count: int64(1 + rng.IntN(3)), All: chance(0.05), AdminAccess: chance(0.05)}
		switch rng.IntN(8) {
		case 0:
			r.Selectors = []api.DeviceSelector{{Expression: "is-b"}}
		case 1:
			r.Selectors = []api.DeviceSelector{{Attribute: &api.DeviceAttribute{Name: "d/index", Value: "1"}}}
		case 2:
			r.Capacities = []api.CapacityRequest{{Name: "memory", Value: 1500}}
		case 3:
			if chance(0.2) {
				r.Selectors = []api.DeviceSelector{{Expression: "fails-a"}}
			}
		}
		return r
	}
	var claims []Claim
	for i := range 1 + rng.IntN(3) {
		spec := &api.ResourceClaimSpec{}
		for j := range 1 + rng.IntN(2) {
			name := fmt.Sprint("r", j)
			if chance(0.15) {
				spec.Requests = append(spec.Requests, api.DeviceRequest{Name: name, FirstAvailable: []api.DeviceSubRequest{
					{Name: "x", Request: request()}, {Name: "y", Request: request()},
				}})
				continue
			}
			spec.Requests = append(spec.Requests, api.DeviceRequest{Name: name, Exactly: new(request())})
		}
		if chance(0.4) {
			c := api.DeviceConstraint{Attribute: []string{"d/model", "d/index"}[rng.IntN(2)], Distinct: chance(0.4)}
			if chance(0.3) {
				c.Requests = []string{"r0"}
			}
			spec.Constraints = append(spec.Constraints, c)
		}
		claims = append(claims, Claim{Name: fmt.Sprint("ns/c", i), Spec: spec})
	}
	expressions := map[string]*Expression{
		"is-b":    NewExpression(&api.DeviceExpression{Matches: []string{"b", "shared"}, Mismatches: []string{"a"}}),
		"fails-a": NewExpression(&api.DeviceExpression{Matches: []string{"b", "shared"}, Failures: []api.ExpressionFailure{{Type: "a", Message: "no such key: x"}}}),
	}
	p := NewProblem(claims, Classes{
		Class:      func(name string) *api.DeviceClass { return &api.DeviceClass{Name: name} },
		Expression: func(name string) *Expression { return expressions[name] },
	})
	node := &Node{Name: "n", Selects: func(*api.NodeSelector) bool { return true }}
	pools, _ := NewFinder(v).Pools(node)
	return node, pools, taken, p
}
