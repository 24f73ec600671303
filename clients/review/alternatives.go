package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// alternatives finds required terms that another term makes void. A node must match one of the terms, so a term is void if another
// term matches all of its nodes and more. It skips terms without a node, because nodes may be added.
func (p *podReview) alternatives(s *corev1.NodeSelector, at *field.Path) {
	terms := s.NodeSelectorTerms
	if len(terms) < 2 {
		return
	}
	matched := make([][]bool, len(terms))
	for i := range terms {
		matched[i] = p.matched(&terms[i])
	}
	for i := range terms {
		var always, now []string
		for j := range terms {
			if j == i || len(terms[j].MatchExpressions)+len(terms[j].MatchFields) == 0 {
				continue
			}
			switch name := fmt.Sprintf("[%d]", j); {
			case implies(&terms[j], &terms[i]) && !implies(&terms[i], &terms[j]):
				always = append(always, name)
			case within(matched[j], matched[i]):
				now = append(now, name)
			}
		}
		p.void(at.Index(i), always, now, matched[i])
	}
}

// void reports the terms that one term makes void, always or with the current nodes. A term that matches every node is most likely a
// mistake: its requirement was meant to hold in addition, and stands alone.
func (p *podReview) void(at *field.Path, always, now []string, matched []bool) {
	const advice = "requirements that must hold together belong in one term"
	if len(always) > 0 {
		p.find(Warning, VoidTerm, at, "a node must match one of the terms, and this one matches every node that %s: %s",
			subject(always), noEffect(always)+"; "+advice)
	}
	if len(now) == 0 {
		return
	}
	if all := !slices.Contains(matched, false); all {
		p.find(Warning, VoidTerm, at, "a node must match one of the terms, and this one matches all %d nodes%s: %s; %s",
			len(matched), p.selecting(), noEffect(now), advice)
		return
	}
	p.find(Note, VoidTerm, at, "a node must match one of the terms, and this one matches every node that %s, and others: %s unless other "+
		"nodes are added; %s", subject(now), noEffect(now), advice)
}

// selecting names the nodes on which terms are compared.
func (p *podReview) selecting() string {
	if len(p.of.Pod.Spec.NodeSelector) > 0 {
		return " that the node selector matches"
	}
	return ""
}

func subject(terms []string) string {
	if len(terms) == 1 {
		return "term " + terms[0] + " matches"
	}
	return "one of the terms " + strings.Join(terms, ", ") + " matches"
}

func noEffect(terms []string) string {
	if len(terms) == 1 {
		return "term " + terms[0] + " has no effect"
	}
	return "the terms " + strings.Join(terms, ", ") + " have no effect"
}

// matched reports for each node of the node selector whether a term matches it, too.
func (p *podReview) matched(t *corev1.NodeSelectorTerm) []bool {
	selected := nodeaffinity.NewRequiredNodeAffinity(p.of.Pod.Spec.NodeSelector, nil)
	wanted := nodeaffinity.NewLazyErrorNodeSelector(one(*t))
	var out []bool
	for _, n := range p.nodes {
		if ok, _ := selected.Match(n); !ok {
			continue
		}
		match, _ := wanted.Match(n) // of terms that do not parse, none matches
		out = append(out, match)
	}
	return out
}

// within reports whether one term matches some nodes, and another term matches all of them and more.
func within(one, other []bool) bool {
	more := false
	for i := range one {
		if one[i] && !other[i] {
			return false
		}
		more = more || other[i] && !one[i]
	}
	return more && slices.Contains(one, true)
}

// implies reports whether every possible node that matches one term matches another term, too. It is false if the terms do not prove
// it.
func implies(one, other *corev1.NodeSelectorTerm) bool {
	if len(other.MatchExpressions)+len(other.MatchFields) == 0 { // such a term matches nothing
		return false
	}
	for _, r := range other.MatchFields {
		if !slices.ContainsFunc(one.MatchFields, func(o corev1.NodeSelectorRequirement) bool {
			return o.Key == r.Key && o.Operator == r.Operator && slices.Equal(o.Values, r.Values)
		}) {
			return false
		}
	}
	demands := map[string]*demand{}
	for _, r := range one.MatchExpressions {
		if demands[r.Key] == nil {
			demands[r.Key] = &demand{}
		}
		demands[r.Key].add(requirement{r.Key, string(r.Operator), r.Values})
	}
	return !slices.ContainsFunc(other.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		d := demands[r.Key]
		return d == nil || !d.implies(&r)
	})
}

// implies reports whether every label that meets the demand meets a requirement, too.
func (d *demand) implies(r *corev1.NodeSelectorRequirement) bool {
	every := func(meets func(value string) bool) bool {
		return d.limited && !slices.ContainsFunc(d.among, func(v string) bool { return d.meets(v) && !meets(v) })
	}
	switch r.Operator {
	case corev1.NodeSelectorOpExists:
		return d.present
	case corev1.NodeSelectorOpDoesNotExist:
		return d.absent
	case corev1.NodeSelectorOpIn:
		return every(func(v string) bool { return slices.Contains(r.Values, v) })
	case corev1.NodeSelectorOpNotIn:
		some := *d
		some.among = slices.Clone(d.among)
		some.add(requirement{r.Key, "In", r.Values})
		return some.excluded()
	}
	if len(r.Values) != 1 {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	number := func(compare func(int64) bool) func(string) bool {
		return func(v string) bool {
			n, err := strconv.ParseInt(v, 10, 64)
			return err == nil && compare(n)
		}
	}
	if r.Operator == corev1.NodeSelectorOpGt {
		return d.above != nil && *d.above >= bound || every(number(func(n int64) bool { return n > bound }))
	}
	return d.below != nil && *d.below <= bound || every(number(func(n int64) bool { return n < bound }))
}
