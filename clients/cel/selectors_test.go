package cel_test

import (
	"fmt"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/cel"
)

func gpu() *resourcev1.Device {
	text, number, version, yes := "a100", int64(8), "1.2.3", true
	return &resourcev1.Device{
		Name: "gpu-0", AllowMultipleAllocations: &yes,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"model": {StringValue: &text}, "index": {IntValue: &number}, "dra.example.com/driverVersion": {VersionValue: &version},
			"dra.example.com/healthy": {BoolValue: &yes},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}},
	}
}

func TestMatch(t *testing.T) {
	for expression, want := range map[string]string{
		`device.driver == "gpu.example.com"`:                                                  "true",
		`device.allowMultipleAllocations`:                                                     "true",
		`device.attributes["gpu.example.com"].model == "a100"`:                                "true",
		`device.attributes["gpu.example.com"].model.startsWith("h")`:                          "false",
		`device.attributes["gpu.example.com"].index > 7`:                                      "true",
		`device.attributes["dra.example.com"].driverVersion.isGreaterThan(semver("1.2.2"))`:   "true",
		`device.attributes["dra.example.com"].healthy`:                                        "true",
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0`:          "true",
		`has(device.attributes["gpu.example.com"].uuid)`:                                      "false",
		`device.attributes["none.example.com"].?model.orValue("") == ""`:                      "true",
		`cel.bind(g, device.attributes["gpu.example.com"], g.model == "a100" && g.index > 8)`: "false",
		`device.attributes["gpu.example.com"].uuid == "x"`: "runtime: no such key: uuid. consider using CEL optional chaining (.? followed by " +
			"orValue()) or guarding the check with has() for optional fields",
		`device.attributes["gpu.example.com"].model > 1`: "runtime: no such overload",
		`[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d,
			[0,1,2,3,4,5,6,7,8,9].all(e, device.driver + string(a+b+c+d+e) != "")))))`: "runtime: operation cancelled: actual cost limit exceeded",
		`device.driver`:  "compile: must evaluate to bool or the unknown type, not string",
		`device.nothing`: "compile: compilation failed: ERROR: <input>:1:7: undefined field 'nothing'\n | device.nothing\n | ......^",
	} {
		t.Run(expression, func(t *testing.T) {
			s := cel.New()
			var got string
			if err := s.Compile(expression); err != nil {
				got = "compile: " + err.Error()
			} else if matches, err := s.Match(expression, "gpu.example.com", gpu()); err != nil {
				got = "runtime: " + err.Error()
			} else {
				got = fmt.Sprint(matches)
			}
			if got != want {
				t.Errorf("%s, not %s", got, want)
			}
		})
	}
}

// readers are expressions, and what they read of the names a, b and c in the domains x and y.
var readers = map[string]string{
	`true`:                                                                           "",
	`device.driver == "x"`:                                                           "",
	`device.attributes["x"].a`:                                                       "x/a",
	`device.attributes["x"]["a"]`:                                                    "x/a",
	`has(device.attributes["x"].a)`:                                                  "x/a",
	`"a" in device.attributes["x"]`:                                                  "x/a",
	`device.attributes["x"].?a.orValue(true)`:                                        "x/a",
	`device.attributes[?"x"].?a.orValue(true)`:                                       "x/a",
	`device.attributes["x"]["a" + ""]`:                                               "x/a x/b x/c",
	`device.attributes[device.driver].a`:                                             "x/a y/a",
	`"x" in device.attributes`:                                                       "x/a x/b x/c",
	`device.attributes["x"].exists(k, k == "a")`:                                     "x/a x/b x/c",
	`device.attributes["x"].all(k, v, k != "a" || type(v) == bool)`:                  "x/a x/b x/c",
	`device.attributes["x"].size() == 1`:                                             "x/a x/b x/c",
	`device.attributes.size() == 1`:                                                  "x/a x/b x/c y/a y/b y/c",
	`device.attributes == {}`:                                                        "x/a x/b x/c y/a y/b y/c",
	`cel.bind(m, device.attributes["x"], m.a || m.b)`:                                "x/a x/b",
	`cel.bind(d, device, d.attributes["y"].c)`:                                       "y/c",
	`cel.bind(m, device.attributes["x"], cel.bind(n, m, has(n.c)))`:                  "x/c",
	`cel.bind(m, device.attributes["x"], "a" in m && m.a)`:                           "x/a",
	`[device.attributes["x"]].exists(m, has(m.a))`:                                   "x/a x/b x/c",
	`(device.driver == "x" ? device.attributes["x"] : device.attributes["y"]).a`:     "x/a x/b x/c y/a y/b y/c",
	`device.attributes["x"].a ? device.attributes["x"].b : device.attributes["y"].c`: "x/a x/b y/c",
	`device.capacity["y"].b.compareTo(quantity("1")) == 0`:                           "y/b",
	`["a"].exists(device, device == "a")`:                                            "",
	`["a", "b"].all(k, k in device.attributes["y"])`:                                 "y/a y/b y/c",
	`{"k": device.attributes["x"].a}["k"]`:                                           "x/a",
}

var (
	readDomains = []string{"x", "y"}
	readNames   = []string{"a", "b", "c"}
)

func TestReads(t *testing.T) {
	s := cel.New()
	for expression, want := range readers {
		t.Run(expression, func(t *testing.T) {
			if err := s.Compile(expression); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, domain := range readDomains {
				for _, name := range readNames {
					if s.Reads(expression, domain, name) {
						got = append(got, domain+"/"+name)
					}
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("reads %q, not %q", got, want)
			}
		})
	}
}

// What an expression does not read does not change its outcome.
func TestReadsEverythingThatMatters(t *testing.T) {
	s := cel.New()
	var expressions []string
	for expression := range readers {
		expressions = append(expressions, expression)
	}
	outcome := func(expression, driver string, d *resourcev1.Device) string {
		matches, err := s.Match(expression, driver, d)
		return fmt.Sprint(matches, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		expression, driver := rapid.SampledFrom(expressions).Draw(t, "expression"), rapid.SampledFrom(readDomains).Draw(t, "driver")
		draw := func(label string, same *resourcev1.Device) *resourcev1.Device {
			d := &resourcev1.Device{
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{},
				Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{},
			}
			for _, domain := range readDomains {
				for _, name := range readNames {
					full := resourcev1.QualifiedName(domain + "/" + name)
					if same != nil && s.Reads(expression, domain, name) {
						if a, ok := same.Attributes[full]; ok {
							d.Attributes[full] = a
						}
						if c, ok := same.Capacity[full]; ok {
							d.Capacity[full] = c
						}
						continue
					}
					if rapid.Bool().Draw(t, label) {
						yes := rapid.Bool().Draw(t, label)
						d.Attributes[full] = resourcev1.DeviceAttribute{BoolValue: &yes}
					}
					if rapid.Bool().Draw(t, label) {
						d.Capacity[full] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(rapid.Int64Range(0, 2).Draw(t, label), resource.DecimalSI)}
					}
				}
			}
			return d
		}
		one := draw("one", nil)
		two := draw("two", one)
		if a, b := outcome(expression, driver, one), outcome(expression, driver, two); a != b {
			t.Fatalf("%s: %s for %v, %s for %v", expression, a, one, b, two)
		}
	})
}
