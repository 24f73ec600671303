package convert

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Selectors evaluates the CEL expressions of DeviceClasses and ResourceClaims: see clients/cel. Errors have kube-scheduler's texts.
type Selectors interface {
	// Compile returns the error of an expression that does not compile.
	Compile(expression string) error
	// Reads reports whether the outcome of an expression may depend on an attribute or a capacity.
	Reads(expression, domain, name string) bool
	// Match evaluates an expression for a device.
	Match(expression, driver string, device *resourcev1.Device) (bool, error)
}

// Devices has the objects of devices that pods depend on.
type Devices struct {
	selectors Selectors
	whole     bool
	slices    []*resourcev1.ResourceSlice
	rules     []*skew.DeviceTaintRule
	classes   map[string]bool
	claims    map[string]*resourcev1.ResourceClaim         // by namespace and name
	templates map[string]*resourcev1.ResourceClaimTemplate // by namespace and name
	texts     map[string]bool                              // expressions
}

// NewDevices returns devices without objects. Without selectors, claims are unread fields. whole says that all objects of the cluster
// will be added.
func NewDevices(selectors Selectors, whole bool) *Devices {
	return &Devices{
		selectors: selectors, whole: whole, classes: map[string]bool{}, claims: map[string]*resourcev1.ResourceClaim{},
		templates: map[string]*resourcev1.ResourceClaimTemplate{}, texts: map[string]bool{},
	}
}

// AddClass adds a DeviceClass.
func (d *Devices) AddClass(c *resourcev1.DeviceClass) {
	d.classes[c.Name] = true
	d.addTexts(c.Spec.Selectors)
}

// AddSlice adds a ResourceSlice.
func (d *Devices) AddSlice(s *resourcev1.ResourceSlice) { d.slices = append(d.slices, s) }

// AddTaintRule adds a DeviceTaintRule.
func (d *Devices) AddTaintRule(r *skew.DeviceTaintRule) { d.rules = append(d.rules, r) }

// AddClaim adds a ResourceClaim.
func (d *Devices) AddClaim(r *resourcev1.ResourceClaim) {
	d.claims[object.Namespace(r)+"/"+r.Name] = r
	d.addSpec(&r.Spec)
}

// AddTemplate adds a ResourceClaimTemplate.
func (d *Devices) AddTemplate(t *resourcev1.ResourceClaimTemplate) {
	d.templates[object.Namespace(t)+"/"+t.Name] = t
	d.addSpec(&t.Spec.Spec)
}

func (d *Devices) addSpec(s *resourcev1.ResourceClaimSpec) {
	for _, r := range s.Devices.Requests {
		if r.Exactly != nil {
			d.addTexts(r.Exactly.Selectors)
		}
		for _, sub := range r.FirstAvailable {
			d.addTexts(sub.Selectors)
		}
	}
}

func (d *Devices) addTexts(selectors []resourcev1.DeviceSelector) {
	for _, s := range selectors {
		if s.CEL != nil {
			d.texts[s.CEL.Expression] = true
		}
	}
}

// unread returns why claims of devices are not decided, empty if they are.
func (d *Devices) unread() string {
	switch {
	case d == nil || d.selectors == nil:
		return readsDevices
	case len(d.slices) == 0 && !d.whole:
		return "no ResourceSlice was read: " + readsDevices
	case len(d.classes) == 0 && !d.whole:
		return "no DeviceClass was read: " + readsDevices
	}
	return ""
}

// setDevices sets the claims of devices of a converted pod, once all objects are added, and returns the ones that are left out.
func (e *Environment) setDevices(out *stowagev1.Pod, of Source) []*stowagev1.UnreadField {
	p, u, spec := of.Pod, &unreads{object: of.Object}, out.GetTemplate().GetSpec()
	spec.ResourceClaims, out.ResourceClaimStatuses = nil, nil
	for i := range p.Spec.ResourceClaims {
		claim, why, err := e.devices.claimOf(p, &p.Spec.ResourceClaims[i])
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			u.add(of.Path.Child("resourceClaims").Index(i), why)
			continue
		}
		spec.ResourceClaims = append(spec.ResourceClaims, claim)
	}
	if len(spec.ResourceClaims) > 0 {
		for _, s := range p.Status.ResourceClaimStatuses {
			out.ResourceClaimStatuses = append(out.ResourceClaimStatuses,
				&stowagev1.PodResourceClaimStatus{Name: s.Name, ResourceClaimName: deref(s.ResourceClaimName)})
		}
	}
	return u.fields
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// claimOf converts a claim of a pod, or returns why it is unread.
func (d *Devices) claimOf(p *corev1.Pod, in *corev1.PodResourceClaim) (out *stowagev1.PodResourceClaim, why string, err error) {
	if why := d.unread(); why != "" {
		return nil, why, nil
	}
	out = &stowagev1.PodResourceClaim{Name: in.Name, ResourceClaimName: deref(in.ResourceClaimName)}
	if in.ResourceClaimTemplateName == nil {
		if len(d.claims) == 0 && !d.whole {
			return nil, "no ResourceClaim was read: " + readsDevices, nil
		}
		return out, "", nil
	}
	created := slices.ContainsFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == in.Name })
	template := d.templates[object.Namespace(p)+"/"+*in.ResourceClaimTemplateName]
	switch {
	case created && len(d.claims) == 0 && !d.whole:
		return nil, "no ResourceClaim was read: " + readsDevices, nil
	case object.Admitted(p) && p.Spec.NodeName == "" && !created: // it waits for the controller, as its claim is not there
		return out, "", nil
	case template == nil && !created:
		return nil, "the ResourceClaimTemplate was not read: " + readsDevices, nil
	case template == nil:
		return out, "", nil
	}
	c := &converter{}
	out.Template = c.deviceClaimSpec(&template.Spec.Spec, field.NewPath("spec", "spec"))
	return out, "", c.err()
}

// ConvertedDevices is the devices of a cluster.
type ConvertedDevices struct {
	Types       []*stowagev1.DeviceType
	Expressions []*stowagev1.DeviceExpression
	Slices      []ConvertedSlice
}

// ConvertedSlice is a slice, or why it does not convert.
type ConvertedSlice struct {
	Object *resourcev1.ResourceSlice
	Slice  *stowagev1.ResourceSlice
	Err    error
}

// example is a device of a type, without the attributes that are not the type's.
type example struct {
	driver string
	device *resourcev1.Device
}

// Convert converts the slices, and evaluates each expression once for each type of devices. Without selectors, it returns nothing.
func (d *Devices) Convert() (out ConvertedDevices) {
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
	examples := map[string]example{}
	for _, s := range d.slices {
		c := &converter{}
		slice := c.resourceSlice(s)
		shared := func(name resourcev1.QualifiedName) bool { return attributes[attribute{s.Spec.Driver, name}] }
		for i := range s.Spec.Devices {
			in, path := &s.Spec.Devices[i], field.NewPath("spec", "devices").Index(i)
			device := c.device(in, path)
			kind, own := c.deviceType(s.Spec.Driver, in, shared, path)
			device.Type, device.Attributes = kind.Name, own
			for _, t := range d.ruled(s, in.Name) {
				device.Taints = append(device.Taints, deviceTaint(t))
			}
			slice.Devices = append(slice.Devices, device)
			if _, known := examples[kind.Name]; !known && len(c.errs) == 0 {
				examples[kind.Name] = example{s.Spec.Driver, withoutOwn(in, shared)}
				out.Types = append(out.Types, kind)
			}
		}
		out.Slices = append(out.Slices, ConvertedSlice{s, slice, c.err()})
	}
	slices.SortFunc(out.Types, func(x, y *stowagev1.DeviceType) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range out.Expressions {
		if e.CompileError == "" {
			d.evaluate(e, out.Types, examples)
		}
	}
	return out
}

// evaluate sets the outcomes of an expression.
func (d *Devices) evaluate(e *stowagev1.DeviceExpression, kinds []*stowagev1.DeviceType, examples map[string]example) {
	for _, kind := range kinds {
		of := examples[kind.Name]
		switch matches, err := d.selectors.Match(e.Text, of.driver, of.device); {
		case err != nil:
			e.Failures = append(e.Failures, &stowagev1.DeviceExpressionFailure{Type: kind.Name, Message: err.Error()})
		case matches:
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
	for _, r := range d.rules {
		by := r.Spec.DeviceSelector
		if by != nil && is(by.Driver, s.Spec.Driver) && is(by.Pool, s.Spec.Pool.Name) && is(by.Device, device) {
			out = append(out, r.Spec.Taint)
		}
	}
	return out
}
