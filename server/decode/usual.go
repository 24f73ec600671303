package decode

import (
	"bytes"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// usual decodes templates and classes that are sound and written in the usual way: canonically, but for the order of
// maps. It fails on all others, and takes nothing otherwise than the decoding of messages would. Going by messages costs
// several times as much, most of it for maps.
type usual struct {
	check                 decoder // only for what is wrong
	scalars, topologyKeys []string
	labelSlab             slab[api.Label]
	quantitySlab          slab[api.Quantity]

	// Of the list at hand.
	labelList    []rawLabel
	plainLabels  []api.Label
	quantityList []api.Quantity
	ordered      []byte
}

// slab hands out slices of larger allocations.
type slab[T any] struct{ taken []T }

// keep returns a copy of values, nil if there are none.
func (s *slab[T]) keep(values []T) []T {
	if len(values) == 0 {
		return nil
	}
	if len(values) > cap(s.taken)-len(s.taken) {
		s.taken = make([]T, 0, max(len(values), min(max(16, 2*cap(s.taken)), 256)))
	}
	n := len(s.taken)
	s.taken = append(s.taken, values...)
	return slices.Clip(s.taken[n:])
}

// begin makes a copy of an item to decode, which will be in canonical form.
func (u *usual) begin(raw []byte) (form []byte, s scan) {
	u.check.problems = problems{}
	u.scalars, u.topologyKeys = u.scalars[:0], u.topologyKeys[:0]
	form = bytes.Clone(raw)
	return form, scan{data: form}
}

func (u *usual) sound(s *scan) bool { return !s.bad && len(u.check.violations) == 0 }

func (u *usual) template(raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	form, s := u.begin(raw)
	out := &api.PodTemplate{Namespace: "default"}
	for last := uint64(0); s.more(); {
		switch s.next(&last, 0) {
		case sized(1):
			out.Namespace = s.text(MaxNamespaceBytes)
		case sized(2):
			out.Labels = u.labels(&s, sized(2))
		case sized(3):
			u.controller(&s, &out.Controller)
		case sized(4):
			u.podSpec(&s, &out.Spec)
		default:
			s.fail()
		}
	}
	return out, form, u.sound(&s)
}

func (u *usual) class(raw []byte) (_ *api.NodeClass, form []byte, ok bool) {
	form, s := u.begin(raw)
	out := new(api.NodeClass)
	for last := uint64(0); s.more(); {
		switch s.next(&last, 1<<2|1<<4|1<<5) {
		case sized(1):
			out.Labels = u.labels(&s, sized(1))
		case sized(2):
			out.Taints = append(out.Taints, u.taint(&s))
		case sized(3):
			out.Allocatable = u.resources(&s, true)
		case sized(4):
			out.Images = append(out.Images, u.image(&s))
		case sized(5):
			key := s.text(MaxLabelKeyBytes)
			out.NameLabelKeys = append(out.NameLabelKeys, key)
		default:
			s.fail()
		}
	}
	s.within(len(out.Taints), MaxTaints)
	s.within(len(out.Images), MaxImages)
	s.within(len(out.NameLabelKeys), MaxLabels)
	return out, form, u.sound(&s)
}

// sized and number are the tags of fields.
func sized(field uint64) uint64  { return field<<3 | uint64(protowire.BytesType) }
func number(field uint64) uint64 { return field<<3 | uint64(protowire.VarintType) }

// next reads a tag. Fields must be in order, and none twice but for those that may be repeated, a bit for each.
func (s *scan) next(last *uint64, repeated uint) uint64 {
	tag := s.varint()
	if field := tag >> 3; field < *last || field == *last && (field >= 64 || repeated>>field&1 == 0) {
		s.fail()
		return 0
	}
	*last = tag >> 3
	return tag
}

// nested begins the message that follows, done ends it.
func (s *scan) nested() scan { return scan{data: s.bytes()} }

func (s *scan) done(in *scan) {
	if in.bad {
		s.fail()
	}
}

func (s *scan) within(length, limit int) {
	if length > limit {
		s.fail()
	}
}

// text reads a string that is not left out where it is empty.
func (s *scan) text(longest int) string {
	t := s.string()
	if t == "" || len(t) > longest {
		s.fail()
	}
	return t
}

// int32 reads a number that may be 0, and nonzero one that is left out where it is 0.
func (s *scan) int32() int32 {
	v := s.varint()
	if uint64(int64(int32(v))) != v {
		s.fail()
	}
	return int32(v)
}

func (s *scan) nonzero() int32 {
	v := s.int32()
	if v == 0 {
		s.fail()
	}
	return v
}

// labels reads a map of labels whose first tag has been read, and puts it in order.
func (u *usual) labels(s *scan, tag uint64) api.Labels {
	from := s.at
	u.labelList = u.labelList[:0]
	for {
		at := s.at
		key, value, ok := s.label()
		if !ok {
			s.fail()
			return nil
		}
		u.labelList = append(u.labelList, rawLabel{api.Label{Key: key, Value: value}, s.since(at)})
		if !s.skip(tag) {
			break
		}
	}
	inOrder, unique := u.order(s.data[from:], tag)
	if !unique || len(u.labelList) > MaxLabels {
		s.fail()
		return nil
	}
	if !inOrder {
		again := scan{data: s.data, at: from}
		for i := range u.labelList {
			l := &u.labelList[i]
			l.Key, l.Value, _ = again.label()
			again.skip(tag)
		}
	}
	u.plainLabels = u.plainLabels[:0]
	for i := range u.labelList {
		u.plainLabels = append(u.plainLabels, u.labelList[i].Label)
	}
	return u.labelSlab.keep(u.plainLabels)
}

// order puts a map's entries, which begin at from, in the order of their keys, and reports whether they were so before,
// and whether the keys are unique.
func (u *usual) order(from []byte, tag uint64) (before, unique bool) {
	before, unique = sortLabels(u.labelList)
	if before || !unique {
		return before, unique
	}
	u.ordered = u.ordered[:0]
	for i := range u.labelList {
		u.ordered = append(append(u.ordered, u.labelList[i].field...), byte(tag))
	}
	copy(from, u.ordered[:len(u.ordered)-1])
	return false, true
}

func (u *usual) controller(s *scan, out *api.ControllerReference) {
	in := s.nested()
	var apiVersion, kind, name string
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			apiVersion = in.text(len(in.data))
		case sized(2):
			kind = in.text(len(in.data))
		case sized(3):
			name = in.text(MaxNameBytes)
		default:
			in.fail()
		}
	}
	*out = controllerOf(apiVersion, kind, name)
	s.done(&in)
}

func (u *usual) podSpec(s *scan, out *api.PodSpec) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<3|1<<4|1<<5|1<<6|1<<9|1<<11) {
		case sized(1):
			out.NodeSelector = u.labels(&in, sized(1))
		case sized(2):
			u.affinity(&in, out)
		case sized(3):
			out.Tolerations = append(out.Tolerations, u.toleration(&in))
		case sized(4):
			out.Spread = append(out.Spread, u.spread(&in, out.Spread))
		case sized(5):
			out.Containers = append(out.Containers, u.container(&in, false))
		case sized(6):
			out.InitContainers = append(out.InitContainers, u.container(&in, true))
		case sized(7):
			out.Requests = u.resources(&in, false)
		case sized(8):
			out.Overhead = u.resources(&in, false)
		case sized(9):
			out.ImageVolumes = append(out.ImageVolumes, in.string())
		case sized(10):
			out.NodeName = in.text(MaxNameBytes)
		case sized(11):
			out.SchedulingGates = append(out.SchedulingGates, in.string())
		case number(12):
			out.Priority = in.nonzero()
		default:
			in.fail()
		}
	}
	in.within(len(out.Tolerations), MaxTolerations)
	in.within(len(out.Spread), MaxSpreadConstraints)
	in.within(len(out.Containers), MaxContainers)
	in.within(len(out.InitContainers), MaxContainers)
	in.within(len(out.ImageVolumes), MaxContainers)
	in.within(len(out.SchedulingGates), MaxTolerations)
	s.done(&in)
}

func (u *usual) container(s *scan, init bool) (out api.Container) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<4) {
		case sized(1):
			out.Name = in.text(len(in.data))
		case sized(2):
			out.Image = in.text(len(in.data))
		case sized(3):
			out.Requests = u.resources(&in, false)
		case sized(4):
			out.HostPorts = append(out.HostPorts, u.hostPort(&in))
		case number(5):
			policy := in.nonzero()
			if stowagev1.ContainerRestartPolicy_name[policy] == "" {
				in.fail()
			}
			out.Sidecar = init && policy == int32(stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS)
		default:
			in.fail()
		}
	}
	in.within(len(out.HostPorts), MaxHostPorts)
	s.done(&in)
	return out
}

func (u *usual) hostPort(s *scan) (out api.HostPort) {
	in := s.nested()
	protocol := stowagev1.Protocol_PROTOCOL_UNSPECIFIED
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case number(1):
			out.Port = in.nonzero()
		case number(2):
			protocol = stowagev1.Protocol(in.nonzero())
		case sized(3):
			out.HostIP = in.text(len(in.data))
		default:
			in.fail()
		}
	}
	s.done(&in)
	return u.check.hostPort(&path{}, out.Port, protocol, out.HostIP)
}

// resources reads amounts of resources.
func (u *usual) resources(s *scan, ofNode bool) api.Resources {
	names := [...]string{1: api.ResourceCPU, 2: api.ResourceMemory, 3: api.ResourceEphemeralStorage, 4: api.ResourcePods}
	u.quantityList = u.quantityList[:0]
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch tag := in.next(&last, 0); tag {
		case number(1), number(2), number(3), number(4):
			if amount := in.varint(); tag != number(4) || ofNode {
				u.quantity(&in, names[tag>>3], amount)
			}
		case sized(5):
			u.scalarEntries(&in)
		default:
			in.fail()
		}
	}
	s.done(&in)
	if len(u.quantityList) == 0 {
		return api.Resources{}
	}
	slices.SortFunc(u.quantityList, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return u.quantitySlab.keep(u.quantityList)
}

func (u *usual) quantity(s *scan, resource string, amount uint64) {
	if amount > MaxQuantity {
		s.fail()
	}
	u.quantityList = append(u.quantityList, api.Quantity{Resource: resource, Amount: int64(amount)})
}

// scalarEntries reads a map of scalars whose first tag has been read, and puts it in order.
func (u *usual) scalarEntries(s *scan) {
	from := s.at
	u.labelList = u.labelList[:0]
	for {
		at := s.at
		entry := s.nested()
		name := entry.mapKey()
		if s.done(&entry); s.bad || name == "" {
			s.fail()
			return
		}
		u.labelList = append(u.labelList, rawLabel{api.Label{Key: name}, s.since(at)})
		if !s.skip(sized(5)) {
			break
		}
	}
	if _, unique := u.order(s.data[from:], sized(5)); !unique {
		s.fail()
	}
	again := scan{data: s.data, at: from}
	for range u.labelList {
		entry := again.nested()
		name := entry.mapKey()
		entry.valueTag(protowire.VarintType)
		u.quantity(s, name, entry.varint())
		if entry.bad || entry.more() {
			s.fail()
		}
		u.scalars = append(u.scalars, name)
		again.skip(sized(5))
	}
}

func (u *usual) taint(s *scan) (out api.Taint) {
	in := s.nested()
	effect := stowagev1.TaintEffect_TAINT_EFFECT_UNSPECIFIED
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			out.Key = in.text(MaxLabelKeyBytes)
		case sized(2):
			out.Value = in.text(MaxLabelValueBytes)
		case number(3):
			effect = stowagev1.TaintEffect(in.nonzero())
		default:
			in.fail()
		}
	}
	var ok bool
	if out.Effect, ok = taintEffect(effect); !ok || out.Effect == api.EveryEffect || out.Key == "" {
		in.fail()
	}
	s.done(&in)
	return out
}

func (u *usual) image(s *scan) (out api.Image) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<1) {
		case sized(1):
			out.Names = append(out.Names, in.string())
		case number(2):
			size := in.varint()
			if size == 0 || size > MaxImageBytes {
				in.fail()
			}
			out.SizeBytes = int64(size)
		default:
			in.fail()
		}
	}
	in.within(len(out.Names), MaxImageNames)
	s.done(&in)
	return out
}

func (u *usual) toleration(s *scan) api.Toleration {
	in := s.nested()
	var key, value string
	var operator, effect int32
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			key = in.text(MaxLabelKeyBytes)
		case number(2):
			operator = in.nonzero()
		case sized(3):
			value = in.text(MaxLabelValueBytes)
		case number(4):
			effect = in.nonzero()
		default:
			in.fail()
		}
	}
	s.done(&in)
	return u.check.toleration(&path{}, key, stowagev1.TolerationOperator(operator), value, stowagev1.TaintEffect(effect))
}

func (u *usual) affinity(s *scan, out *api.PodSpec) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			out.NodeAffinity = u.nodeAffinity(&in)
		case sized(2):
			out.PodAffinity = u.podAffinity(&in)
		case sized(3):
			out.PodAntiAffinity = u.podAffinity(&in)
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (u *usual) nodeAffinity(s *scan) *api.NodeAffinity {
	out := new(api.NodeAffinity)
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<2) {
		case sized(1):
			out.Required = u.nodeSelector(&in)
		case sized(2):
			out.Preferred = append(out.Preferred, u.preferredNodeTerm(&in))
		default:
			in.fail()
		}
	}
	in.within(len(out.Preferred), MaxTerms)
	s.done(&in)
	return out
}

func (u *usual) preferredNodeTerm(s *scan) (out api.PreferredNodeTerm) {
	out.Weight = u.weighted(s, func(in *scan) { out.Preference = u.nodeSelectorTerm(in, refuseBadNumbers) })
	return out
}

// weighted reads a weight and a term, which must be there.
func (u *usual) weighted(s *scan, term func(*scan)) (weight int32) {
	in := s.nested()
	stated := false
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case number(1):
			weight = in.nonzero()
		case sized(2):
			term(&in)
			stated = true
		default:
			in.fail()
		}
	}
	u.check.weight(&path{}, weight)
	if !stated {
		in.fail()
	}
	s.done(&in)
	return weight
}

func (u *usual) nodeSelector(s *scan) *api.NodeSelector {
	out := new(api.NodeSelector)
	in := s.nested()
	for last := uint64(0); in.more(); {
		if in.next(&last, 1<<1) != sized(1) {
			in.fail()
			break
		}
		out.Terms = append(out.Terms, u.nodeSelectorTerm(&in, allowBadNumbers))
	}
	in.within(len(out.Terms), MaxTerms)
	s.done(&in)
	return out
}

func (u *usual) nodeSelectorTerm(s *scan, bad badNumbers) (out api.NodeSelectorTerm) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<1|1<<2) {
		case sized(1):
			key, operator, values := in.requirement()
			r := u.check.nodeRequirement(&path{}, key, stowagev1.NodeSelectorOperator(operator), values, bad)
			out.MatchExpressions = append(out.MatchExpressions, r)
		case sized(2):
			key, operator, values := in.requirement()
			r := u.check.nodeField(&path{}, key, stowagev1.NodeSelectorOperator(operator), values)
			out.MatchFields = append(out.MatchFields, r)
		default:
			in.fail()
		}
	}
	in.within(len(out.MatchExpressions), MaxRequirements)
	in.within(len(out.MatchFields), MaxRequirements)
	s.done(&in)
	return out
}

func (s *scan) requirement() (key string, operator int32, values []string) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<3) {
		case sized(1):
			key = in.text(len(in.data))
		case number(2):
			operator = in.nonzero()
		case sized(3):
			values = append(values, in.string())
		default:
			in.fail()
		}
	}
	s.done(&in)
	return key, operator, values
}

func (u *usual) podAffinity(s *scan) *api.PodAffinity {
	out := new(api.PodAffinity)
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<1|1<<2) {
		case sized(1):
			out.Required = append(out.Required, u.podAffinityTerm(&in))
		case sized(2):
			out.Preferred = append(out.Preferred, u.weightedTerm(&in))
		default:
			in.fail()
		}
	}
	in.within(len(out.Required), MaxTerms)
	in.within(len(out.Preferred), MaxTerms)
	s.done(&in)
	return out
}

func (u *usual) weightedTerm(s *scan) (out api.WeightedPodAffinityTerm) {
	out.Weight = u.weighted(s, func(in *scan) { out.Term = u.podAffinityTerm(in) })
	return out
}

func (u *usual) podAffinityTerm(s *scan) (out api.PodAffinityTerm) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<2|1<<5|1<<6) {
		case sized(1):
			out.LabelSelector = u.labelSelector(&in)
		case sized(2):
			out.Namespaces = append(out.Namespaces, in.string())
		case sized(3):
			out.NamespaceSelector = u.labelSelector(&in)
		case sized(4):
			out.TopologyKey = in.string()
		case sized(5):
			out.MatchLabelKeys = append(out.MatchLabelKeys, in.string())
		case sized(6):
			out.MismatchLabelKeys = append(out.MismatchLabelKeys, in.string())
		default:
			in.fail()
		}
	}
	u.topologyKey(&in, out.TopologyKey)
	u.check.termNamespaces(&path{}, out.Namespaces)
	u.check.labelKeys(&path{}, "", out.MatchLabelKeys)
	u.check.labelKeys(&path{}, "", out.MismatchLabelKeys)
	s.done(&in)
	return out
}

func (u *usual) topologyKey(s *scan, key string) {
	if !isLabelKey(key) {
		s.fail()
	}
	u.topologyKeys = append(u.topologyKeys, key)
}

func (u *usual) labelSelector(s *scan) *api.LabelSelector {
	out := new(api.LabelSelector)
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<2) {
		case sized(1):
			out.MatchLabels = u.labels(&in, sized(1))
		case sized(2):
			key, operator, values := in.requirement()
			r := u.check.labelRequirement(&path{}, key, stowagev1.LabelSelectorOperator(operator), values)
			out.MatchExpressions = append(out.MatchExpressions, r)
		default:
			in.fail()
		}
	}
	u.check.matchLabels(&path{}, out.MatchLabels)
	in.within(len(out.MatchExpressions), MaxRequirements)
	s.done(&in)
	return out
}

func (u *usual) spread(s *scan, before []api.TopologySpreadConstraint) api.TopologySpreadConstraint {
	out := api.TopologySpreadConstraint{MinDomains: 1}
	var action stowagev1.UnsatisfiableAction
	var affinityPolicy, taintsPolicy stowagev1.NodeInclusionPolicy
	var minDomains *int32
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<8) {
		case number(1):
			out.MaxSkew = in.nonzero()
		case sized(2):
			out.TopologyKey = in.string()
		case number(3):
			action = stowagev1.UnsatisfiableAction(in.nonzero())
		case sized(4):
			out.LabelSelector = u.labelSelector(&in)
		case number(5):
			domains := in.int32()
			minDomains = &domains
		case number(6):
			affinityPolicy = stowagev1.NodeInclusionPolicy(in.nonzero())
		case number(7):
			taintsPolicy = stowagev1.NodeInclusionPolicy(in.nonzero())
		case sized(8):
			out.MatchLabelKeys = append(out.MatchLabelKeys, in.string())
		default:
			in.fail()
		}
	}
	u.topologyKey(&in, out.TopologyKey)
	u.check.labelKeys(&path{}, "", out.MatchLabelKeys)
	if len(out.MatchLabelKeys) > 0 && out.LabelSelector == nil {
		in.fail()
	}
	if out.MaxSkew < 1 {
		in.fail()
	}
	out.IgnoreNodeAffinity = u.check.policy(&path{}, "", affinityPolicy) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
	out.HonorNodeTaints = u.check.policy(&path{}, "", taintsPolicy) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
	u.check.spreadRules(&path{}, &out, action, minDomains, before)
	s.done(&in)
	return out
}
