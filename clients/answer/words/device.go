package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// whyDevices says which requests of claims have no devices, what excludes the others, which constraints fail, and which claims have devices
// elsewhere.
func (x *Explanation) whyDevices(e *stowagev1.Explanation) []string {
	var out []string
	for _, u := range e.GetUnusableDeviceClaims() {
		out = append(out, fmt.Sprintf("claim %s/%s has %s: it leaves out %s", u.GetNamespace(), u.GetName(), Devices(u.GetDevices()), some(u.GetNodes())))
	}
	short := map[string]bool{}
	for _, r := range ShortRequests(e) {
		short[requestKey(r.Total)] = true
		out = append(out, x.deviceRequest(e, r))
	}
	said := map[string]bool{}
	for _, s := range e.GetDeviceShortages() {
		for _, c := range s.GetConstraints() {
			if text := unmet(c); !said[text] {
				said[text] = true
				out = append(out, text+", which leaves out "+some(nodesOf(e, func(o *stowagev1.DeviceShortage) bool { return hasConstraint(o, c) })))
			}
		}
	}
	together := func(s *stowagev1.DeviceShortage) bool {
		return len(s.GetConstraints()) == 0 && !slices.ContainsFunc(s.GetRequests(), func(r *stowagev1.DeviceRequestCounts) bool { return short[requestKey(r)] })
	}
	if nodes := nodesOf(e, together); len(nodes.GetNames()) > 0 {
		out = append(out, "enough devices for each request of its claims, but not for all of them together on "+some(nodes))
	}
	for _, of := range []struct {
		text  string
		pools func(*stowagev1.DeviceShortage) uint32
	}{
		{"incomplete pools of devices", (*stowagev1.DeviceShortage).GetIncompletePools}, {"invalid pools of devices", (*stowagev1.DeviceShortage).GetInvalidPools},
	} {
		if nodes := nodesOf(e, func(s *stowagev1.DeviceShortage) bool { return of.pools(s) > 0 }); len(nodes.GetNames()) > 0 {
			out = append(out, of.text+" on "+some(nodes))
		}
	}
	return out
}

// ShortRequest is a request of a claim that nodes have too few devices for.
type ShortRequest struct {
	Total *stowagev1.DeviceRequestCounts
	// Nodes are the nodes that have too few, and Most is the number of devices that the best one has.
	Nodes *stowagev1.NodeList
	Most  uint32
}

// ShortRequests returns the requests that nodes have too few devices for. A sub-request counts if no other one of its list has enough.
func ShortRequests(e *stowagev1.Explanation) []ShortRequest {
	var out []ShortRequest
	for _, total := range e.GetDeviceRequests() {
		short := ShortRequest{Total: total, Nodes: &stowagev1.NodeList{}}
		for _, s := range e.GetDeviceShortages() {
			for _, r := range s.GetRequests() {
				if requestKey(r) == requestKey(total) && lacks(r) && !otherwise(s, r) {
					short.Most = max(short.Most, r.GetAvailable())
					short.Nodes.Indexes = append(short.Nodes.Indexes, s.GetNodes().GetIndexes()...)
					short.Nodes.Names = append(short.Nodes.Names, s.GetNodes().GetNames()...)
				}
			}
		}
		if len(short.Nodes.Names) > 0 {
			out = append(out, short)
		}
	}
	return out
}

// lacks reports whether there are too few devices for a request.
func lacks(r *stowagev1.DeviceRequestCounts) bool {
	if r.GetRequested() == 0 { // all
		taken := slices.ContainsFunc(r.GetExcluded(), func(x *stowagev1.ExcludedDevices) bool {
			return x.GetReason() >= stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAINT
		})
		return taken || r.GetAvailable() == 0
	}
	return int64(r.GetAvailable()) < r.GetRequested()
}

// otherwise reports whether a request is in a list of which another one has enough devices.
func otherwise(s *stowagev1.DeviceShortage, r *stowagev1.DeviceRequestCounts) bool {
	list, _, found := strings.Cut(r.GetRequest(), "/")
	return found && slices.ContainsFunc(s.GetRequests(), func(o *stowagev1.DeviceRequestCounts) bool {
		return o.GetPodClaim() == r.GetPodClaim() && strings.HasPrefix(o.GetRequest(), list+"/") && !lacks(o)
	})
}

func requestKey(r *stowagev1.DeviceRequestCounts) string {
	return r.GetPodClaim() + "\x00" + r.GetExtendedResource() + "\x00" + r.GetRequest()
}

func nodesOf(e *stowagev1.Explanation, of func(*stowagev1.DeviceShortage) bool) *stowagev1.NodeList {
	out := &stowagev1.NodeList{}
	for _, s := range e.GetDeviceShortages() {
		if of(s) {
			out.Names = append(out.Names, s.GetNodes().GetNames()...)
		}
	}
	slices.Sort(out.Names)
	return out
}

func hasConstraint(s *stowagev1.DeviceShortage, c *stowagev1.UnmetDeviceConstraint) bool {
	return slices.ContainsFunc(s.GetConstraints(), func(o *stowagev1.UnmetDeviceConstraint) bool {
		return o.GetPodClaim() == c.GetPodClaim() && o.GetIndex() == c.GetIndex()
	})
}

func unmet(c *stowagev1.UnmetDeviceConstraint) string {
	how := "the same"
	if c.GetDistinct() {
		how = "different values of"
	}
	return fmt.Sprintf("claim %s needs devices with %s %s", c.GetPodClaim(), how, c.GetAttribute())
}

// DeviceRequest names a request for devices.
func DeviceRequest(r *stowagev1.DeviceRequestCounts) string {
	if r.GetPodClaim() == "" {
		return r.GetExtendedResource()
	}
	return fmt.Sprintf("request %s of claim %s", r.GetRequest(), r.GetPodClaim())
}

// deviceRequest says what keeps a request from devices.
func (x *Explanation) deviceRequest(e *stowagev1.Explanation, r ShortRequest) string {
	wanted := "all devices"
	if n := r.Total.GetRequested(); n > 0 {
		wanted = Plural(uint64(n), "device")
	}
	text := fmt.Sprintf("%s asks for %s of class %s", DeviceRequest(r.Total), wanted, r.Total.GetDeviceClassName())
	if r.Total.GetDevices() == 0 {
		return text + ", and " + some(r.Nodes) + " has no devices"
	}
	var parts []string
	for _, of := range r.Total.GetExcluded() {
		parts = append(parts, x.Excluded(of))
	}
	text += fmt.Sprintf(": of %s, %s", Plural(r.Total.GetDevices(), "device"), strings.Join(parts, ", "))
	switch {
	case r.Total.GetRequested() == 0 || r.Total.GetAvailable() == 0:
	case len(r.Nodes.GetNames()) == 1:
		text += fmt.Sprintf(", so that %s has %d", r.Nodes.GetNames()[0], r.Most)
	default:
		text += fmt.Sprintf(", so that no node has more than %d", r.Most)
	}
	if holders := x.Holders(e); holders != "" && slices.ContainsFunc(r.Total.GetExcluded(), used) {
		text += "; devices are taken by " + holders
	}
	return text
}

func used(x *stowagev1.ExcludedDevices) bool {
	return x.GetReason() >= stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAKEN
}

// Excluded says why devices are excluded, and how many.
func (x *Explanation) Excluded(of *stowagev1.ExcludedDevices) string {
	n := of.GetDevices()
	switch of.GetReason() {
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_CLASS_SELECTOR:
		return Counted(n, "is", "are") + " of another class"
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_SELECTOR:
		return fmt.Sprintf("the selector %s excludes %d", x.DeviceSelector(of.GetSelector()), n)
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_NOT_EVALUATED:
		return fmt.Sprintf("the selector %s was not evaluated for %d", x.DeviceSelector(of.GetSelector()), n)
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TOO_SMALL:
		return fmt.Sprintf("%s too little %s", Counted(n, "has", "have"), of.GetCapacity())
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAINT:
		return fmt.Sprintf("%s the taint %s", Counted(n, "has", "have"), DeviceTaint(of.GetTaint()))
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAKEN:
		return Counted(n, "is taken", "are taken")
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_CAPACITY_USED:
		return fmt.Sprintf("%s too little %s left", Counted(n, "has", "have"), of.GetCapacity())
	case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_COUNTERS_USED:
		return Counted(n, "overlaps taken ones", "overlap taken ones")
	}
	return fmt.Sprintf("%d %s", n, of.GetReason())
}

// maximumExpression is the length of an expression in a sentence.
const maximumExpression = 120

// DeviceSelector writes a selector of devices.
func (x *Explanation) DeviceSelector(s *stowagev1.DeviceSelector) string {
	if s.GetExpression() != "" {
		text := strings.Join(strings.Fields(cmp.Or(named(x.Cluster.GetDeviceExpressions(), s.GetExpression()).GetText(), s.GetExpression())), " ")
		if utf8.RuneCountInString(text) > maximumExpression {
			text = string([]rune(text)[:maximumExpression-1]) + "…"
		}
		return text
	}
	var out []string
	if s.GetDriver() != "" {
		out = append(out, "driver="+s.GetDriver())
	}
	if a := s.GetAttribute(); a != nil {
		out = append(out, a.GetName()+"="+a.GetValue())
	}
	return strings.Join(out, ",")
}

// DeviceTaint writes a taint of a device.
func DeviceTaint(t *stowagev1.DeviceTaint) string {
	out := t.GetKey()
	if t.GetValue() != "" {
		out += "=" + t.GetValue()
	}
	switch t.GetEffect() {
	case stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_SCHEDULE:
		return out + ":NoSchedule"
	case stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE:
		return out + ":NoExecute"
	}
	return out
}

// Device names a device.
func Device(driver, pool, device string) string { return driver + "/" + pool + "/" + device }

// Devices names the devices of a claim.
func Devices(all []*stowagev1.DeviceAllocation) string {
	var out []string
	for _, d := range all {
		out = append(out, Device(d.GetDriver(), d.GetPool(), d.GetDevice()))
	}
	return Names(out)
}

// PodDevices lists the claims of a pod of the cluster that have devices, with the devices.
func PodDevices(c *stowagev1.Cluster, namespace, pod string) []string {
	var out []string
	for _, claim := range c.GetResourceClaims() {
		devices := claim.GetAllocation().GetDevices()
		if claim.GetNamespace() == namespace && slices.Contains(claim.GetReservedFor(), pod) && len(devices) > 0 {
			out = append(out, "claim "+claim.GetName()+": "+Devices(devices))
		}
	}
	return out
}

// ClaimOf names the claim of a placed pod: the entry of the pod, with the claim if it has a name of its own.
func ClaimOf(c *stowagev1.ClaimDevices) string {
	switch {
	case c.GetPodClaim() == "":
		return "(extended resources)"
	case c.GetName() != "" && c.GetName() != c.GetPodClaim():
		return c.GetPodClaim() + " (" + c.GetName() + ")"
	}
	return c.GetPodClaim()
}

// Holders names the pods that have taken devices, and the claims that no pod has reserved.
func (x *Explanation) Holders(e *stowagev1.Explanation) string {
	var out []string
	for _, t := range e.GetTakenDevices() {
		who := x.Holder(t)
		if !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	return Names(out)
}

// Holder names the pods that have a device, or else the claim.
func (x *Explanation) Holder(t *stowagev1.TakenDevice) string {
	var out []string
	for _, p := range t.GetPods() {
		out = append(out, x.Pod(p))
	}
	if len(out) == 0 {
		return fmt.Sprintf("claim %s/%s of no pod", t.GetClaimNamespace(), t.GetClaimName())
	}
	return Names(out)
}
