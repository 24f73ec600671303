package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

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
	out.Weight = u.weighted(s, func(in *scan) { out.Preference = u.nodeSelectorTerm(in) })
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
		out.Terms = append(out.Terms, u.nodeSelectorTerm(&in))
	}
	in.within(len(out.Terms), MaxTerms)
	s.done(&in)
	return out
}

func (u *usual) nodeSelectorTerm(s *scan) (out api.NodeSelectorTerm) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<1|1<<2) {
		case sized(1):
			key, operator, values := in.requirement()
			r := u.check.nodeRequirement(&path{}, key, stowagev1.NodeSelectorOperator(operator), values, lenientValues)
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
			r := u.check.labelRequirement(&path{}, key, stowagev1.LabelSelectorOperator(operator), values, lenientValues)
			out.MatchExpressions = append(out.MatchExpressions, r)
		default:
			in.fail()
		}
	}
	u.check.checkMatchLabels(&path{}, out.MatchLabels, lenientValues)
	in.within(len(out.MatchExpressions), MaxRequirements)
	s.done(&in)
	return out
}
