package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// errDeviceClaim is why no patch changes what a claim requests.
var errDeviceClaim = errors.New(
	"the API server refuses the change of a ResourceClaim or ResourceClaimTemplate: create another one with the change, then the pod again with it")

// devices is advice about the claims of devices: another request, without a constraint, and devices that other pods or unused claims have.
func (q *Question) devices(ctx context.Context) ([]Advice, error) {
	var trials []trial
	short := words.ShortRequests(q.Explanation)
	for _, r := range q.Explanation.GetDeviceRequests() { // with enough devices for themselves, but not with the others
		if !slices.ContainsFunc(short, func(o words.ShortRequest) bool { return o.Total == r }) {
			short = append(short, words.ShortRequest{Total: r})
		}
	}
	for _, r := range short {
		trials = append(trials, q.otherRequest(r)...)
	}
	seen := map[string]bool{}
	for _, s := range q.Explanation.GetDeviceShortages() {
		for _, c := range s.GetConstraints() {
			if key := fmt.Sprint(c.GetPodClaim(), "/", c.GetIndex()); !seen[key] {
				seen[key] = true
				trials = append(trials, q.withoutConstraint(c)...)
			}
		}
	}
	trials = trials[:min(len(trials), maximumTrials)]
	all, err := q.try(ctx, trials)
	if err != nil {
		return nil, err
	}
	freed, err := q.freed(ctx)
	return append(all, freed...), err
}

// otherRequest tries changes of a request that has too few devices.
func (q *Question) otherRequest(r words.ShortRequest) (out []trial) {
	of := r.Total
	add := func(kind Kind, text string, change func(*stowagev1.ExactDeviceRequest)) {
		a := Advice{Kind: kind, Text: text + " in " + words.DeviceRequest(of)}
		out = append(out, q.withClaim(a, of.GetPodClaim(), func(s *stowagev1.ResourceClaimSpec) bool {
			found := requestNamed(s, of.GetRequest())
			if found != nil {
				change(found)
			}
			return found != nil
		})...)
	}
	x := &words.Explanation{Cluster: q.Snapshot.Cluster}
	if r.Most > 0 {
		add(FewerDevices, fmt.Sprintf("%s instead of %d", words.Plural(r.Most, "device"), of.GetRequested()),
			func(e *stowagev1.ExactDeviceRequest) { e.Count = int64(r.Most) })
	}
	tried := map[string]bool{}
	for _, excluded := range of.GetExcluded() {
		switch excluded.GetReason() {
		case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAINT:
			t := excluded.GetTaint()
			add(ToleratedDevice, "a toleration of the taint "+words.DeviceTaint(t), func(e *stowagev1.ExactDeviceRequest) {
				e.Tolerations = append(e.Tolerations, &stowagev1.DeviceToleration{Key: t.GetKey(), Value: t.GetValue(), Effect: t.GetEffect()})
			})
		case stowagev1.DeviceExclusion_DEVICE_EXCLUSION_SELECTOR:
			i, text := int(excluded.GetSelectorIndex()), x.DeviceSelector(excluded.GetSelector())
			if tried[text] {
				continue
			}
			tried[text] = true
			add(FewerSelectors, "no selector "+text, func(e *stowagev1.ExactDeviceRequest) {
				if i < len(e.GetSelectors()) {
					e.Selectors = slices.Delete(slices.Clone(e.GetSelectors()), i, i+1)
				}
			})
		}
	}
	return append(out, q.alternatives(of)...)
}

// alternatives tries other classes after the one of a request, which becomes a list (firstAvailable). A request of a list has alternatives.
func (q *Question) alternatives(of *stowagev1.DeviceRequestCounts) (out []trial) {
	if strings.Contains(of.GetRequest(), "/") {
		return nil
	}
	drivers := fill.DriversOf(q.Snapshot.Cluster, of.GetDeviceClassName())
	for _, class := range q.Snapshot.Cluster.GetDeviceClasses() {
		name := class.GetName()
		if name == of.GetDeviceClassName() || len(out) == maximumClasses {
			continue
		}
		if !slices.ContainsFunc(fill.DriversOf(q.Snapshot.Cluster, name), func(d string) bool { return slices.Contains(drivers, d) }) {
			continue // devices of another kind
		}
		a := Advice{
			Kind: AlternativeDevice,
			Text: fmt.Sprintf("firstAvailable of class %s, then %s, in %s", of.GetDeviceClassName(), name, words.DeviceRequest(of)),
		}
		out = append(out, q.withClaim(a, of.GetPodClaim(), func(s *stowagev1.ResourceClaimSpec) bool {
			i := slices.IndexFunc(s.GetRequests(), func(r *stowagev1.DeviceRequest) bool { return r.GetName() == of.GetRequest() })
			if i < 0 || s.Requests[i].GetExactly() == nil || s.Requests[i].GetExactly().GetAdminAccess() {
				return false
			}
			first, second := s.Requests[i].Exactly, proto.CloneOf(s.Requests[i].Exactly)
			second.DeviceClassName, second.Selectors = name, nil
			s.Requests[i].Exactly = nil
			s.Requests[i].FirstAvailable = []*stowagev1.DeviceSubRequest{{Name: "first", Request: first}, {Name: "second", Request: second}}
			return true
		})...)
	}
	return out
}

// requestNamed returns a request or a sub-request, nil if there is none.
func requestNamed(s *stowagev1.ResourceClaimSpec, name string) *stowagev1.ExactDeviceRequest {
	name, sub, isSub := strings.Cut(name, "/")
	for _, r := range s.GetRequests() {
		if r.GetName() != name {
			continue
		}
		if !isSub {
			return r.GetExactly()
		}
		for _, f := range r.GetFirstAvailable() {
			if f.GetName() == sub {
				return f.GetRequest()
			}
		}
	}
	return nil
}

// withoutConstraint tries a claim without a constraint.
func (q *Question) withoutConstraint(c *stowagev1.UnmetDeviceConstraint) []trial {
	kind := "matchAttribute"
	if c.GetDistinct() {
		kind = "distinctAttribute"
	}
	a := Advice{Kind: FewerConstraints, Text: fmt.Sprintf("no constraint %s: %s in claim %s", kind, c.GetAttribute(), c.GetPodClaim())}
	return q.withClaim(a, c.GetPodClaim(), func(s *stowagev1.ResourceClaimSpec) bool {
		i := int(c.GetIndex())
		if i >= len(s.GetConstraints()) {
			return false
		}
		s.Constraints = slices.Delete(slices.Clone(s.GetConstraints()), i, i+1)
		return true
	})
}

// withClaim is a trial with a changed claim of the first pod in question, by the pod's entry: of the cluster, or of a template. There is none if
// the entry is unknown, or change reports that nothing changes.
func (q *Question) withClaim(a Advice, entry string, change func(*stowagev1.ResourceClaimSpec) bool) []trial {
	a.Refused = errDeviceClaim
	pod := q.Pods[0].Pods.GetPod()
	template := compact.Template(q.Snapshot.Cluster, pod)
	i := slices.IndexFunc(template.GetSpec().GetResourceClaims(), func(c *stowagev1.PodResourceClaim) bool { return c.GetName() == entry })
	if i < 0 {
		return nil
	}
	name := template.GetSpec().GetResourceClaims()[i].GetResourceClaimName()
	for _, s := range pod.GetResourceClaimStatuses() {
		if s.GetName() == entry {
			name = cmp.Or(name, s.GetResourceClaimName())
		}
	}
	if name != "" {
		a.Claim = template.GetNamespace() + "/" + name
		for _, c := range q.Snapshot.Cluster.GetResourceClaims() {
			if c.GetName() != name || c.GetNamespace() != template.GetNamespace() {
				continue
			}
			if c = proto.CloneOf(c); change(c.GetSpec()) {
				return []trial{{Advice: a, delta: &stowagev1.ClusterDelta{ResourceClaims: []*stowagev1.ResourceClaim{c}}}}
			}
		}
		return nil
	}
	template = proto.CloneOf(template)
	if spec := template.GetSpec().GetResourceClaims()[i].GetTemplate(); spec == nil || !change(spec) {
		return nil
	}
	changed := compact.Shallow(pod)
	changed.Source = &stowagev1.Pod_Template{Template: template}
	return []trial{{Advice: a, pod: changed}}
}

// freed is advice to free devices: a claim that no pod has reserved, or the pods of one node, the lowest priority first.
func (q *Question) freed(ctx context.Context) ([]Advice, error) {
	var trials []trial
	byNode := map[uint32][]kube.OnNode{}
	var nodes []uint32
	seen := map[string]bool{}
	for _, t := range q.Explanation.GetTakenDevices() {
		key := t.GetClaimNamespace() + "/" + t.GetClaimName()
		if seen[key] || t.GetClaimName() == "" {
			continue
		}
		seen[key] = true
		if len(t.GetPods()) == 0 {
			trials = append(trials, unusedClaim(t))
			continue
		}
		if on := q.holders(t); len(on) > 0 {
			node := uint32(on[0].Node)
			if byNode[node] == nil {
				nodes = append(nodes, node)
			}
			byNode[node] = append(byNode[node], on...)
		}
	}
	if !slices.ContainsFunc(q.Offered, func(c *stowagev1.Change) bool { return c.GetVictims() != nil }) {
		for _, node := range nodes[:min(len(nodes), maximumMoves)] {
			all := byNode[node]
			slices.SortStableFunc(all, func(a, b kube.OnNode) int { return cmp.Compare(priority(a.Pod), priority(b.Pod)) })
			for i := range all[:min(len(all), maximumMoves)] {
				trials = append(trials, freeing(q.Snapshot.Cluster.Nodes[node].GetName(), all[:i+1]))
			}
		}
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(len(a.evicted), len(b.evicted)) })
	all, err := q.try(ctx, trials)
	return all[:min(len(all), 1)], err
}

// holders are the pods on nodes that have a device; nil if one of them stays.
func (q *Question) holders(t *stowagev1.TakenDevice) (out []kube.OnNode) {
	for _, p := range t.GetPods() {
		found := false
		for on := range q.Snapshot.OnNodes() {
			if on.Object.Namespace == p.GetNamespace() && on.Object.Name == p.GetName() && on.Pod.DeletionTimestamp == nil {
				out, found = append(out, on), true
			}
		}
		if !found {
			return nil
		}
	}
	return out
}

// unusedClaim is the trial without a claim that no pod has reserved.
func unusedClaim(t *stowagev1.TakenDevice) trial {
	name := &stowagev1.NamespacedName{Namespace: t.GetClaimNamespace(), Name: t.GetClaimName()}
	return trial{
		Advice: Advice{
			Kind: FreedDevice, Claim: name.GetNamespace() + "/" + name.GetName(),
			Text: fmt.Sprintf("claim %s/%s deleted, which no pod uses and which has %s", name.GetNamespace(), name.GetName(),
				words.Device(t.GetDriver(), t.GetPool(), t.GetDevice())),
			Fix: remedy.DeletedClaim(name.GetNamespace(), name.GetName()),
		},
		delta: &stowagev1.ClusterDelta{RemovedResourceClaims: []*stowagev1.NamespacedName{name}},
	}
}

// freeing is the trial without pods of a node.
func freeing(node string, pods []kube.OnNode) trial {
	var names []string
	fix := &remedy.Fix{}
	for _, p := range pods {
		names = append(names, p.Object.Namespace+"/"+p.Object.Name)
		one := remedy.Deleted(p.Object.Namespace, p.Object.Name)
		fix.Commands, fix.Note = append(fix.Commands, one.Commands...), one.Note
	}
	return trial{
		Advice: Advice{
			Kind: FreedDevice, Pod: pods[0].Object, Fix: fix, Text: fmt.Sprintf("%s gone from %s, which frees devices", words.List(names), node),
		},
		evicted: slices.Clone(pods),
	}
}
