package convert

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
	slices    map[string]*resourcev1.ResourceSlice
	rules     map[string]*skew.DeviceTaintRule
	classes   map[string]*resourcev1.DeviceClass
	claims    map[string]*resourcev1.ResourceClaim         // by namespace and name
	templates map[string]*resourcev1.ResourceClaimTemplate // by namespace and name
	texts     map[string]int                               // the number of selectors with an expression
	stale     bool
	kept      conversions
}

// NewDevices returns devices without objects. Without selectors, claims are unread fields. whole says that all objects of the cluster
// will be added.
func NewDevices(selectors Selectors, whole bool) *Devices {
	return &Devices{
		selectors: selectors, whole: whole, slices: map[string]*resourcev1.ResourceSlice{}, rules: map[string]*skew.DeviceTaintRule{},
		classes: map[string]*resourcev1.DeviceClass{}, claims: map[string]*resourcev1.ResourceClaim{},
		templates: map[string]*resourcev1.ResourceClaimTemplate{}, texts: map[string]int{},
	}
}

// AddClass adds a DeviceClass, or replaces the one of its name.
func (d *Devices) AddClass(c *resourcev1.DeviceClass) {
	d.addTexts(c.Spec.Selectors, 1) // before the ones of the old class go: equal ones stay
	d.RemoveClass(c.Name)
	d.classes[c.Name] = c
}

// RemoveClass removes a DeviceClass, if there is one.
func (d *Devices) RemoveClass(name string) {
	if c := d.classes[name]; c != nil {
		d.addTexts(c.Spec.Selectors, -1)
		delete(d.classes, name)
	}
}

// AddSlice adds a ResourceSlice, or replaces the one of its name.
func (d *Devices) AddSlice(s *resourcev1.ResourceSlice) {
	if old := d.slices[s.Name]; old == nil || !apiequality.Semantic.DeepEqual(old.Spec, s.Spec) {
		d.slices[s.Name], d.stale = s, true
	}
}

// RemoveSlice removes a ResourceSlice, if there is one.
func (d *Devices) RemoveSlice(name string) {
	if d.slices[name] != nil {
		delete(d.slices, name)
		d.stale = true
	}
}

// AddTaintRule adds a DeviceTaintRule, or replaces the one of its name.
func (d *Devices) AddTaintRule(r *skew.DeviceTaintRule) {
	if old := d.rules[r.Name]; old == nil || !apiequality.Semantic.DeepEqual(old.Spec, r.Spec) {
		d.rules[r.Name] = r
		d.stale, d.kept.slices = true, nil
	}
}

// RemoveTaintRule removes a DeviceTaintRule, if there is one.
func (d *Devices) RemoveTaintRule(name string) {
	if d.rules[name] != nil {
		delete(d.rules, name)
		d.stale, d.kept.slices = true, nil
	}
}

// AddClaim adds a ResourceClaim, or replaces the one of its name.
func (d *Devices) AddClaim(r *resourcev1.ResourceClaim) {
	d.addSpec(&r.Spec, 1)
	d.RemoveClaim(r)
	d.claims[object.Namespace(r)+"/"+r.Name] = r
}

// RemoveClaim removes the ResourceClaim with the namespace and the name of another one, if there is one.
func (d *Devices) RemoveClaim(r *resourcev1.ResourceClaim) {
	key := object.Namespace(r) + "/" + r.Name
	if old := d.claims[key]; old != nil {
		d.addSpec(&old.Spec, -1)
		delete(d.claims, key)
	}
}

// AddTemplate adds a ResourceClaimTemplate.
func (d *Devices) AddTemplate(t *resourcev1.ResourceClaimTemplate) {
	d.templates[object.Namespace(t)+"/"+t.Name] = t
	d.addSpec(&t.Spec.Spec, 1)
}

// Stale reports whether the next Convert may return something else than the last one.
func (d *Devices) Stale() bool { return d.stale }

// addSpec adds a number to the uses of the expressions of a claim.
func (d *Devices) addSpec(s *resourcev1.ResourceClaimSpec, uses int) {
	for _, r := range s.Devices.Requests {
		if r.Exactly != nil {
			d.addTexts(r.Exactly.Selectors, uses)
		}
		for _, sub := range r.FirstAvailable {
			d.addTexts(sub.Selectors, uses)
		}
	}
}

func (d *Devices) addTexts(selectors []resourcev1.DeviceSelector, uses int) {
	for _, s := range selectors {
		if s.CEL == nil {
			continue
		}
		text := s.CEL.Expression
		before := d.texts[text]
		if d.texts[text] += uses; d.texts[text] <= 0 {
			delete(d.texts, text)
		}
		d.stale = d.stale || before == 0 || before+uses <= 0
	}
}

// unread returns why claims of devices are not decided, empty if they are.
func (d *Devices) unread() string {
	switch {
	case d == nil || d.selectors == nil:
		return readsDevices
	case !d.whole && len(d.slices) == 0:
		return "no ResourceSlice was read: " + readsDevices
	case !d.whole && len(d.classes) == 0:
		return "no DeviceClass was read: " + readsDevices
	}
	return ""
}

// lacks reports whether a class was not added, and may exist: the classes of a cluster are all that it has.
func (d *Devices) lacks(class string) bool {
	if d.whole || d.classes[class] != nil {
		return false
	}
	for _, c := range d.classes {
		if object.Admitted(c) {
			return false
		}
	}
	return true
}

// lackedClass returns why a claim is unread that requests devices of a class that was not added, empty if none is.
func (d *Devices) lackedClass(s *resourcev1.ResourceClaimSpec) string {
	lacked := ""
	note := func(class string) {
		if lacked == "" && d.lacks(class) {
			lacked = fmt.Sprintf("the DeviceClass %s was not read: %s", class, readsDevices)
		}
	}
	for _, r := range s.Devices.Requests {
		if r.Exactly != nil {
			note(r.Exactly.DeviceClassName)
		}
		for _, sub := range r.FirstAvailable {
			note(sub.DeviceClassName)
		}
	}
	return lacked
}

// implied returns the requests of extended resources that name a class which is not read, or not known.
func (e *Environment) implied(out *stowagev1.Pod, of Source) []*stowagev1.UnreadField {
	u, spec := &unreads{object: of.Object}, out.GetTemplate().GetSpec()
	if e.devices.unread() != "" {
		u.devices(spec, of.Path, readsExtended, impliedClass)
		return u.fields
	}
	u.devices(spec, of.Path, readsLacked, func(resource string) (string, bool) {
		class, implied := impliedClass(resource)
		return class, implied && e.devices.lacks(class)
	})
	return u.fields
}

// setDevices sets the claims of devices of a converted pod, once all objects are added, and returns the ones that are left out.
func (e *Environment) setDevices(out *stowagev1.Pod, of Source) []*stowagev1.UnreadField {
	p, u, spec := of.Pod, &unreads{object: of.Object}, out.GetTemplate().GetSpec()
	spec.ResourceClaims, out.ResourceClaimStatuses = nil, nil
	for i := range p.Spec.ResourceClaims {
		claim, why, err := e.devices.claimOf(of, &p.Spec.ResourceClaims[i])
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
func (d *Devices) claimOf(of Source, in *corev1.PodResourceClaim) (out *stowagev1.PodResourceClaim, why string, err error) {
	p := of.Pod
	if why := d.unread(); why != "" {
		return nil, why, nil
	}
	out = &stowagev1.PodResourceClaim{Name: in.Name, ResourceClaimName: deref(in.ResourceClaimName)}
	if in.ResourceClaimTemplateName == nil {
		if !d.whole && len(d.claims) == 0 {
			return nil, "no ResourceClaim was read: " + readsDevices, nil
		}
		if claim := d.claims[object.Namespace(p)+"/"+out.ResourceClaimName]; claim != nil && claim.Status.Allocation == nil {
			return out, d.lackedClass(&claim.Spec), nil
		}
		return out, "", nil
	}
	created := slices.ContainsFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == in.Name })
	template := d.templates[object.Namespace(p)+"/"+*in.ResourceClaimTemplateName]
	switch {
	case created && !d.whole && len(d.claims) == 0:
		return nil, "no ResourceClaim was read: " + readsDevices, nil
	case object.Admitted(p) && (of.Pending || p.Spec.NodeName == "") && !created: // it waits for the controller, as its claim is not there
		return out, "", nil
	case template == nil && (!created || !of.Pending && p.Spec.NodeName != ""): // whose controller creates the pod again, without its claim
		return nil, "the ResourceClaimTemplate was not read: " + readsDevices, nil
	case template == nil:
		return out, "", nil
	}
	if why := d.lackedClass(&template.Spec.Spec); why != "" && !created { // a claim that was created has devices, or its own class
		return nil, why, nil
	}
	c := &converter{}
	out.Template = c.deviceClaimSpec(&template.Spec.Spec, field.NewPath("spec", "spec"))
	return out, "", c.err()
}
