package allocate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
)

const driver = "gpu.example"

// on is a node whose slices have devices, and what its claims request.
type on struct {
	slices []api.ResourceSlice
	claims []api.ResourceClaimSpec
	taken  []string
}

func device(name, typ string) api.Device { return api.Device{Name: name, Type: typ} }

func slice(devices ...api.Device) api.ResourceSlice {
	return api.ResourceSlice{Name: "s", Driver: driver, Pool: "n", NodeName: "n", Devices: devices}
}

func exactly(name string, change ...func(*api.ExactDeviceRequest)) api.DeviceRequest {
	r := &api.ExactDeviceRequest{DeviceClassName: "gpu"}
	for _, c := range change {
		c(r)
	}
	return api.DeviceRequest{Name: name, Exactly: r}
}

func count(n int64) func(*api.ExactDeviceRequest) {
	return func(r *api.ExactDeviceRequest) { r.Count = n }
}
func all(r *api.ExactDeviceRequest)   { r.All = true }
func admin(r *api.ExactDeviceRequest) { r.AdminAccess = true }

func memory(milli int64) func(*api.ExactDeviceRequest) {
	return func(r *api.ExactDeviceRequest) { r.Capacities = []api.CapacityRequest{{Name: "memory", Value: milli}} }
}

func selects(expression string) func(*api.ExactDeviceRequest) {
	return func(r *api.ExactDeviceRequest) { r.Selectors = []api.DeviceSelector{{Expression: expression}} }
}

func spec(requests ...api.DeviceRequest) api.ResourceClaimSpec {
	return api.ResourceClaimSpec{Requests: requests}
}

// types: a and b differ in their model, shared is given to several claims.
var types = []*api.DeviceType{
	{Name: "a", Attributes: []api.DeviceAttribute{{Name: "model", Value: "a"}}, Capacities: []api.DeviceCapacity{{Name: "memory", Value: 8000}}},
	{Name: "b", Attributes: []api.DeviceAttribute{{Name: "model", Value: "b"}}},
	{Name: "shared", AllowMultipleAllocations: true, Capacities: []api.DeviceCapacity{{Name: "memory", Value: 8000, Policy: &api.CapacityPolicy{
		Default: new(int64(1000)), ValidRange: &api.CapacityRange{Min: 1000, Max: new(int64(6000)), Step: new(int64(2000))},
	}}}},
	{Name: "fraction", AllowMultipleAllocations: true, Capacities: []api.DeviceCapacity{{Name: "memory", Value: 1000, Policy: &api.CapacityPolicy{
		Default: new(int64(200)), ValidRange: &api.CapacityRange{Min: 200, Step: new(int64(100))},
	}}}},
}

var classes = allocate.Classes{
	Class: func(name string) *api.DeviceClass {
		if name != "gpu" {
			return nil
		}
		return &api.DeviceClass{Name: "gpu", Selectors: []api.DeviceSelector{{Driver: driver}}}
	},
	Expression: func(name string) *allocate.Expression {
		return map[string]*allocate.Expression{
			"is-b":    allocate.NewExpression(&api.DeviceExpression{Matches: []string{"b"}, Mismatches: []string{"a", "shared"}}),
			"fails-a": allocate.NewExpression(&api.DeviceExpression{Matches: []string{"b"}, Failures: []api.ExpressionFailure{{Type: "a", Message: "no such key: x"}}}),
			"broken":  allocate.NewExpression(&api.DeviceExpression{CompileError: "syntax"}),
			"partial": allocate.NewExpression(&api.DeviceExpression{Matches: []string{"b"}}),
		}[name]
	},
}

// result describes what a search finds: the devices by claim, or why there are none.
func (o *on) result() string {
	var list []*api.ResourceSlice
	for i := range o.slices {
		list = append(list, &o.slices[i])
	}
	v := allocate.NewInventory(types, list)
	taken := allocate.NewTaken(v)
	for _, name := range o.taken {
		id, found := v.Find(allocate.DeviceName{Driver: driver, Pool: "n", Device: name})
		if !found {
			return "no device " + name
		}
		taken.Take(id, &api.DeviceAllocation{})
	}
	var claims []allocate.Claim
	for i := range o.claims {
		claims = append(claims, allocate.Claim{Name: fmt.Sprint("ns/c", i), Spec: &o.claims[i]})
	}
	node := &allocate.Node{Name: "n", Selects: func(*api.NodeSelector) bool { return true }}
	pools, _ := allocate.NewFinder(v).Pools(node)
	steps := 1 << 20
	r := allocate.Search(allocate.NewProblem(claims, classes), node, pools, taken, &steps)
	switch r.Status {
	case allocate.Impossible:
		return "impossible"
	case allocate.InvalidPools:
		return "invalid pools"
	case allocate.Failed:
		return r.Error
	case allocate.Undecided:
		return "undecided"
	}
	var out []string
	for _, claim := range r.Claims {
		var devices []string
		for _, c := range claim {
			text := c.Request + "=" + pools[c.Pool].Devices[c.Device].Device.Name
			for _, q := range c.Consumed {
				text += fmt.Sprint(":", q.Value)
			}
			devices = append(devices, text)
		}
		out = append(out, strings.Join(devices, " "))
	}
	return strings.Join(out, "; ")
}

// TestSearch holds the search to what the code of the allocator does, case by case (allocator_incubating.go, v0.37).
func TestSearch(t *testing.T) {
	a0, a1, b0, s0 := device("a-0", "a"), device("a-1", "a"), device("b-0", "b"), device("s-0", "shared")
	lanes := func(d api.Device, n int64) api.Device {
		d.ConsumesCounters = []api.CounterSet{{Name: "set", Counters: []api.Counter{{Name: "lanes", Value: n}}}}
		return d
	}
	counted := func(devices ...api.Device) []api.ResourceSlice {
		s := slice(devices...)
		s.SliceCount = 2
		return []api.ResourceSlice{s, {
			Name: "t", Driver: driver, Pool: "n", NodeName: "n", SliceCount: 2,
			CounterSets: []api.CounterSet{{Name: "set", Counters: []api.Counter{{Name: "lanes", Value: 4}}}},
		}}
	}
	tainted := a0
	tainted.Taints = []api.DeviceTaint{{Key: "k", Value: "v", Effect: api.DeviceNoSchedule}}
	bound := a0
	bound.BindingConditions = []string{"ready"}
	other := func(name string, devices ...api.Device) api.ResourceSlice {
		s := slice(devices...)
		s.Name, s.Pool = name, name
		return s
	}
	model := func(distinct bool, requests ...string) []api.DeviceConstraint {
		return []api.DeviceConstraint{{Attribute: driver + "/model", Distinct: distinct, Requests: requests}}
	}
	first := func(subs ...api.DeviceSubRequest) api.DeviceRequest {
		return api.DeviceRequest{Name: "r", FirstAvailable: subs}
	}
	sub := func(name string, n int64, expression string) api.DeviceSubRequest {
		r := *exactly("", count(n)).Exactly
		if expression != "" {
			selects(expression)(&r)
		}
		return api.DeviceSubRequest{Name: name, Request: r}
	}
	one := []api.ResourceSlice{slice(a0, a1, b0, s0)}
	fraction := []api.ResourceSlice{slice(api.Device{Name: "f-0", Type: "fraction"})}
	for name, c := range map[string]struct {
		on
		want string
	}{
		"the first device":                   {on{one, []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "r=a-0"},
		"the next free one":                  {on{one, []api.ResourceClaimSpec{spec(exactly("r"))}, []string{"a-0"}}, "r=a-1"},
		"combinations in order":              {on{one, []api.ResourceClaimSpec{spec(exactly("r", count(2)), exactly("q"))}, nil}, "r=a-0 r=a-1 q=b-0"},
		"two claims":                         {on{one, []api.ResourceClaimSpec{spec(exactly("r")), spec(exactly("r"))}, nil}, "r=a-0; r=a-1"},
		"a selector":                         {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("is-b")))}, nil}, "r=b-0"},
		"too many":                           {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("is-b"), count(2)))}, nil}, "impossible"},
		"backtracking for a later request":   {on{[]api.ResourceSlice{slice(b0, a0)}, []api.ResourceClaimSpec{spec(exactly("r"), exactly("q", selects("is-b")))}, nil}, "r=a-0 q=b-0"},
		"the same model":                     {on{[]api.ResourceSlice{slice(b0, a0, a1)}, []api.ResourceClaimSpec{{Requests: []api.DeviceRequest{exactly("r", count(2))}, Constraints: model(false)}}, nil}, "r=a-0 r=a-1"},
		"different models":                   {on{one, []api.ResourceClaimSpec{{Requests: []api.DeviceRequest{exactly("r", count(2))}, Constraints: model(true, "r")}}, nil}, "r=a-0 r=b-0"},
		"a constraint about another one":     {on{one, []api.ResourceClaimSpec{{Requests: []api.DeviceRequest{exactly("r", count(2))}, Constraints: model(true, "q")}}, nil}, "r=a-0 r=a-1"},
		"all":                                {on{[]api.ResourceSlice{slice(a0, b0)}, []api.ResourceClaimSpec{spec(exactly("r", all))}, nil}, "r=a-0 r=b-0"},
		"all, one taken":                     {on{[]api.ResourceSlice{slice(a0, b0)}, []api.ResourceClaimSpec{spec(exactly("r", all))}, []string{"b-0"}}, "impossible"},
		"all of none":                        {on{[]api.ResourceSlice{slice(a0)}, []api.ResourceClaimSpec{spec(exactly("r", all, selects("is-b")))}, nil}, "impossible"},
		"all, by a constraint":               {on{[]api.ResourceSlice{slice(a0, b0)}, []api.ResourceClaimSpec{{Requests: []api.DeviceRequest{exactly("r", all)}, Constraints: model(false)}}, nil}, "claim ns/c0, request r: cannot add device gpu.example/n/b-0 because a claim constraint would not be satisfied"},
		"admin access to a taken device":     {on{one, []api.ResourceClaimSpec{spec(exactly("r", admin))}, []string{"a-0"}}, "r=a-0"},
		"admin access once in a claim":       {on{[]api.ResourceSlice{slice(a0)}, []api.ResourceClaimSpec{spec(exactly("r", admin, count(2)))}, nil}, "impossible"},
		"the second of a list":               {on{[]api.ResourceSlice{slice(a0)}, []api.ResourceClaimSpec{spec(first(sub("best", 1, "is-b"), sub("rest", 1, "")))}, nil}, "r/rest=a-0"},
		"an error":                           {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("fails-a")))}, nil}, "claim ns/c0: selector #0 on device gpu.example/n/a-0: CEL runtime error: no such key: x"},
		"no error of a device not looked at": {on{[]api.ResourceSlice{slice(b0, a0)}, []api.ResourceClaimSpec{spec(exactly("r", selects("fails-a")))}, nil}, "r=b-0"},
		"an expression that is no CEL":       {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("broken")))}, nil}, "claim ns/c0: selector #0: CEL compile error: syntax"},
		"an expression without outcome":      {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("partial")))}, nil}, "undecided"},
		"an unknown expression":              {on{one, []api.ResourceClaimSpec{spec(exactly("r", selects("none")))}, nil}, "undecided"},
		"a taint":                            {on{[]api.ResourceSlice{slice(tainted, a1)}, []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "r=a-1"},
		"a tolerated taint": {on{[]api.ResourceSlice{slice(tainted)}, []api.ResourceClaimSpec{spec(exactly("r", func(r *api.ExactDeviceRequest) {
			r.Tolerations = []api.DeviceToleration{{Key: "k", Exists: true}}
		}))}, nil}, "r=a-0"},
		"counters":                                  {on{counted(lanes(a0, 3), lanes(a1, 2), lanes(b0, 2)), []api.ResourceClaimSpec{spec(exactly("r", count(2)))}, nil}, "r=a-1 r=b-0"},
		"counters of taken devices":                 {on{counted(lanes(a0, 3), lanes(a1, 2), lanes(b0, 1)), []api.ResourceClaimSpec{spec(exactly("r"))}, []string{"a-0"}}, "r=b-0"},
		"an incomplete pool":                        {on{counted(a0)[:1], []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "impossible"},
		"all of an incomplete pool":                 {on{counted(a0)[:1], []api.ResourceClaimSpec{spec(exactly("r", all))}, nil}, "claim ns/c0, request r: asks for all devices, but resource pool gpu.example/n is currently being updated"},
		"an invalid pool":                           {on{[]api.ResourceSlice{slice(a0, a0)}, []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "invalid pools"},
		"an unknown counter":                        {on{[]api.ResourceSlice{slice(lanes(a0, 1)), other("o", b0)}, []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "r=b-0"},
		"pools with binding conditions last":        {on{[]api.ResourceSlice{slice(bound), other("o", b0)}, []api.ResourceClaimSpec{spec(exactly("r"))}, nil}, "r=b-0"},
		"enough memory":                             {on{[]api.ResourceSlice{slice(b0, a0)}, []api.ResourceClaimSpec{spec(exactly("r", memory(8000)))}, nil}, "r=a-0"},
		"too little memory":                         {on{[]api.ResourceSlice{slice(a0)}, []api.ResourceClaimSpec{spec(exactly("r", memory(9000)))}, nil}, "impossible"},
		"shares, rounded up":                        {on{[]api.ResourceSlice{slice(s0)}, []api.ResourceClaimSpec{spec(exactly("r", memory(1500)), exactly("q"))}, nil}, "r=s-0:3000 q=s-0:1000"},
		"shares, more than there is":                {on{[]api.ResourceSlice{slice(s0)}, []api.ResourceClaimSpec{spec(exactly("r", memory(4500)), exactly("q", memory(4500)))}, nil}, "impossible"},
		"a share above the range":                   {on{[]api.ResourceSlice{slice(s0)}, []api.ResourceClaimSpec{spec(exactly("r", memory(6000)))}, nil}, "impossible"},
		"a share below the range":                   {on{fraction, []api.ResourceClaimSpec{spec(exactly("r", memory(100)), exactly("q"))}, nil}, "r=f-0:200 q=f-0:200"},
		"shares, rounded up as whole numbers":       {on{fraction, []api.ResourceClaimSpec{spec(exactly("r", memory(250)))}, nil}, "r=f-0:1000"},
		"shares, more whole numbers than there are": {on{fraction, []api.ResourceClaimSpec{spec(exactly("r", memory(250)), exactly("q", memory(250)))}, nil}, "impossible"},
		"a share that no capacity has":              {on{fraction, []api.ResourceClaimSpec{spec(exactly("r", memory(math.MaxInt64)))}, nil}, "impossible"},
		"too many devices for a claim":              {on{one, []api.ResourceClaimSpec{spec(exactly("r", count(33)))}, nil}, "claim ns/c0, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for"},
		"an unknown class": {on{one, []api.ResourceClaimSpec{spec(exactly("r", func(r *api.ExactDeviceRequest) { r.DeviceClassName = "x" }))}, nil},
			`claim ns/c0, request r: could not retrieve device class x: deviceclass.resource.k8s.io "x" not found`},
	} {
		if got := c.result(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSearchIsBounded: a search that has more combinations than its limit is not decided.
func TestSearchIsBounded(t *testing.T) {
	var devices []api.Device
	for i := range 30 {
		d := device(fmt.Sprint("a-", i), "a")
		d.Taints = []api.DeviceTaint{{Key: fmt.Sprint(i), Effect: api.NoDeviceEffect}} // each is another one
		devices = append(devices, d)
	}
	o := on{[]api.ResourceSlice{slice(devices...)}, []api.ResourceClaimSpec{spec(exactly("r", count(15)), exactly("q", selects("is-b")))}, nil}
	if got := o.result(); got != "undecided" {
		t.Error(got)
	}
}

// TestSearchesOfEqualDevicesEnd: that one request has no device is found without all combinations of equal devices for the other one, and
// without all orders of different devices.
func TestSearchesOfEqualDevicesEnd(t *testing.T) {
	var equal, different []api.Device
	for i := range 64 {
		equal = append(equal, device(fmt.Sprint("a-", i), "a"))
	}
	for i := range 12 {
		d := device(fmt.Sprint("a-", i), "a")
		d.Taints = []api.DeviceTaint{{Key: fmt.Sprint(i), Effect: api.NoDeviceEffect}}
		different = append(different, d)
	}
	none := exactly("q", selects("is-b"))
	nine := spec(exactly("r0"), exactly("r1"), exactly("r2"), exactly("r3"), exactly("r4"), exactly("r5"), exactly("r6"), exactly("r7"), exactly("r8"), none)
	for name, o := range map[string]on{
		"equal":     {[]api.ResourceSlice{slice(equal...)}, []api.ResourceClaimSpec{spec(exactly("r", count(24)), none)}, nil},
		"different": {[]api.ResourceSlice{slice(different...)}, []api.ResourceClaimSpec{nine}, nil},
	} {
		if got := o.result(); got != "impossible" {
			t.Errorf("%s devices: %s", name, got)
		}
	}
}
