package convert

import (
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ConvertedDevices is the devices of a cluster.
type ConvertedDevices struct {
	Types       []*stowagev1.DeviceType
	Expressions []*stowagev1.DeviceExpression
	Slices      []ConvertedSlice // by name
}

// ConvertedSlice is a slice, or why it does not convert.
type ConvertedSlice struct {
	Object *resourcev1.ResourceSlice
	Slice  *stowagev1.ResourceSlice
	Err    error
	kinds  []example
}

// example is a device of a type, without the attributes that are not the type's.
type example struct {
	kind   *stowagev1.DeviceType
	driver string
	device *resourcev1.Device
}

// conversions are the results of the last Convert, which the next one takes where nothing has changed.
type conversions struct {
	shared   map[attribute]bool
	slices   map[string]ConvertedSlice
	outcomes map[[2]string]outcome // by expression and type
}

// outcome is what an expression evaluates to.
type outcome struct {
	matches bool
	err     error
}

// Convert converts the slices, and evaluates each expression once for each type of devices. Without selectors, it returns nothing.
func (d *Devices) Convert() (out ConvertedDevices) {
	d.stale = false
	if d.selectors == nil {
		return out
	}
	var compiled []string
	for _, text := range slices.Sorted(maps.Keys(d.texts)) {
		e := &stowagev1.DeviceExpression{Name: ExpressionName(text), Text: text}
		if err := d.selectors.Compile(text); err != nil {
			e.CompileError = err.Error()
		} else {
			compiled = append(compiled, text)
		}
		out.Expressions = append(out.Expressions, e)
	}
	attributes := d.sharedAttributes(compiled)
	if !maps.Equal(attributes, d.kept.shared) {
		d.kept.slices = nil
	}
	kept := conversions{shared: attributes, slices: map[string]ConvertedSlice{}, outcomes: map[[2]string]outcome{}}
	examples := map[string]example{}
	for _, name := range slices.Sorted(maps.Keys(d.slices)) {
		converted := d.kept.slices[name]
		if converted.Object != d.slices[name] {
			converted = d.convertSlice(d.slices[name], attributes)
		}
		kept.slices[name] = converted
		out.Slices = append(out.Slices, converted)
		for _, e := range converted.kinds {
			if _, known := examples[e.kind.Name]; !known {
				examples[e.kind.Name] = e
				out.Types = append(out.Types, e.kind)
			}
		}
	}
	slices.SortFunc(out.Types, func(x, y *stowagev1.DeviceType) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range out.Expressions {
		if e.CompileError == "" {
			d.evaluate(e, out.Types, examples, kept.outcomes)
		}
	}
	d.kept = kept
	return out
}

// convertSlice converts a slice. attributes are the ones that are parts of types.
func (d *Devices) convertSlice(s *resourcev1.ResourceSlice, attributes map[attribute]bool) ConvertedSlice {
	c := &converter{}
	out := ConvertedSlice{Object: s, Slice: c.resourceSlice(s)}
	shared := func(name resourcev1.QualifiedName) bool { return attributes[attribute{s.Spec.Driver, name}] }
	known := map[string]bool{}
	for i := range s.Spec.Devices {
		in, path := &s.Spec.Devices[i], field.NewPath("spec", "devices").Index(i)
		device := c.device(in, path)
		kind, own := c.deviceType(s.Spec.Driver, in, shared, path)
		device.Type, device.Attributes = kind.Name, own
		for _, t := range d.ruled(s, in.Name) {
			device.Taints = append(device.Taints, deviceTaint(t))
		}
		out.Slice.Devices = append(out.Slice.Devices, device)
		if !known[kind.Name] && len(c.errs) == 0 {
			known[kind.Name] = true
			out.kinds = append(out.kinds, example{kind, s.Spec.Driver, withoutOwn(in, shared)})
		}
	}
	out.Err = c.err()
	return out
}

// evaluate sets the outcomes of an expression, and keeps them. The name of a type is a digest of its driver and its content.
func (d *Devices) evaluate(e *stowagev1.DeviceExpression, kinds []*stowagev1.DeviceType, examples map[string]example, kept map[[2]string]outcome) {
	for _, kind := range kinds {
		key := [2]string{e.Text, kind.Name}
		is, known := d.kept.outcomes[key]
		if !known {
			of := examples[kind.Name]
			is.matches, is.err = d.selectors.Match(e.Text, of.driver, of.device)
		}
		kept[key] = is
		switch {
		case is.err != nil:
			e.Failures = append(e.Failures, &stowagev1.DeviceExpressionFailure{Type: kind.Name, Message: is.err.Error()})
		case is.matches:
			e.Matches = append(e.Matches, kind.Name)
		default:
			e.Mismatches = append(e.Mismatches, kind.Name)
		}
	}
}

// withoutOwn returns a device with its shared attributes alone.
func withoutOwn(d *resourcev1.Device, shared func(resourcev1.QualifiedName) bool) *resourcev1.Device {
	out := *d
	out.Attributes = maps.Clone(d.Attributes)
	maps.DeleteFunc(out.Attributes, func(name resourcev1.QualifiedName, _ resourcev1.DeviceAttribute) bool { return !shared(name) })
	return &out
}

// attribute is an attribute of a driver's devices.
type attribute struct {
	driver string
	name   resourcev1.QualifiedName
}

// maximumValues is how many values an attribute has at most that no expression reads and that is a part of the types. Others, such as
// UUIDs, would give each device a type of its own.
const maximumValues = 64

// sharedAttributes returns the attributes that are parts of types: the ones that an expression reads, versions, which fail any expression if
// they do not parse, and the ones with few values.
func (d *Devices) sharedAttributes(expressions []string) map[attribute]bool {
	values := map[attribute]map[string]bool{}
	shared := map[attribute]bool{}
	c := &converter{}
	for _, s := range d.slices {
		for i := range s.Spec.Devices {
			for name, value := range s.Spec.Devices[i].Attributes {
				a := attribute{s.Spec.Driver, name}
				if values[a] == nil {
					values[a] = map[string]bool{}
					domain, id, ok := strings.Cut(string(name), "/")
					if !ok {
						domain, id = s.Spec.Driver, string(name)
					}
					shared[a] = slices.ContainsFunc(expressions, func(text string) bool { return d.selectors.Reads(text, domain, id) })
				}
				if !shared[a] && len(values[a]) <= maximumValues {
					shared[a] = value.VersionValue != nil
					values[a][c.deviceAttribute(name, value, nil).Value] = true
				}
			}
		}
	}
	for a, seen := range values {
		shared[a] = shared[a] || len(seen) <= maximumValues
	}
	return shared
}

// ruled returns the taints that DeviceTaintRules add to a device (k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go
// applyPatches, v0.37).
func (d *Devices) ruled(s *resourcev1.ResourceSlice, device string) (out []resourcev1.DeviceTaint) {
	is := func(want *string, have string) bool { return want == nil || *want == have }
	for _, name := range slices.Sorted(maps.Keys(d.rules)) {
		r := d.rules[name]
		by := r.Spec.DeviceSelector
		if by != nil && is(by.Driver, s.Spec.Driver) && is(by.Pool, s.Spec.Pool.Name) && is(by.Device, device) {
			out = append(out, r.Spec.Taint)
		}
	}
	return out
}
