package change

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// requirementAt is a requirement of the pod on nodes' labels, and where it is.
type requirementAt struct {
	api.Requirement
	term, expression int // as in verdict.NodeRequirement; of the node selector the index of the label
}

// requirements returns the requirements of the node selector, then the requirements of the required terms.
func requirements(spec *api.PodSpec) []requirementAt {
	var out []requirementAt
	for i, l := range spec.NodeSelector {
		out = append(out, requirementAt{api.Requirement{Key: l.Key, Operator: api.In, Values: []string{l.Value}}, -1, i})
	}
	if spec.NodeAffinity == nil || spec.NodeAffinity.Required == nil {
		return out
	}
	for i := range spec.NodeAffinity.Required.Terms {
		for j, r := range spec.NodeAffinity.Required.Terms[i].MatchExpressions {
			out = append(out, requirementAt{r, i, j})
		}
	}
	return out
}

// pinned reports whether the pod is a DaemonSet's with a required term that names its node. It belongs to that node.
func pinned(t *api.PodTemplate) bool {
	a := t.Spec.NodeAffinity
	return t.Controller.Kind == api.DaemonSet && a != nil && a.Required != nil &&
		slices.ContainsFunc(a.Required.Terms, func(t api.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 })
}

// becomes returns the change of a spec in which the requirement becomes another one; nil gives it up. A term that has no other
// requirement matches every node then.
func (r *requirementAt) becomes(to *api.Requirement) func(*api.PodSpec) {
	if r.term < 0 {
		return func(spec *api.PodSpec) {
			rest := slices.Delete(slices.Clone(spec.NodeSelector), r.expression, r.expression+1)
			if to != nil {
				rest = rest.With(api.Labels{{Key: to.Key, Value: to.Values[0]}})
			}
			spec.NodeSelector = rest
		}
	}
	return func(spec *api.PodSpec) {
		affinity, required := *spec.NodeAffinity, *spec.NodeAffinity.Required
		required.Terms = slices.Clone(required.Terms)
		term := &required.Terms[r.term]
		term.MatchExpressions = slices.Clone(term.MatchExpressions)
		switch {
		case to != nil:
			term.MatchExpressions[r.expression] = *to
		case len(term.MatchExpressions)+len(term.MatchFields) == 1:
			affinity.Required = nil
		default:
			term.MatchExpressions = slices.Delete(term.MatchExpressions, r.expression, r.expression+1)
		}
		if affinity.Required != nil {
			affinity.Required = &required
		}
		spec.NodeAffinity = &affinity
	}
}

// changeRequirements tries each requirement with another value or key, and without it.
func (s *search) changeRequirements() error {
	all := requirements(s.Pod.Spec())
	if s.passingBut(nodeaffinity.Plugin, podtopologyspread.Plugin).Empty() { // it counts the matching nodes
		return nil
	}
	for i := range all[:min(len(all), maxTriedRules)] {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.changeRequirement(&all[i], all); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) changeRequirement(r *requirementAt, all []requirementAt) error {
	meeting, parsable := s.State.Meeting(r.Requirement)
	meeting.And(s.candidates)
	found := verdict.NodeRequirement{
		Term: r.term, Expression: r.expression, From: r.Requirement, Matching: meeting.Len(), Unparsable: !parsable,
		Contradicts: s.contradicts(r, meeting, all),
	}
	if r.term < 0 {
		found.Expression = 0
	}
	if s.unverified {
		return s.addSpec(verdict.Change{NodeRequirement: &found}, r.becomes(nil))
	}
	outcome, err := s.with(r.becomes(nil))
	if err != nil || outcome.Empty() {
		return err
	}
	before := len(s.found)
	if r.Operator == api.In {
		if err := s.changeValue(r, found, outcome); err != nil || s.suffices(before) {
			return err
		}
		if meeting.Empty() {
			if err := s.renameKey(r, found, outcome); err != nil || s.suffices(before) {
				return err
			}
		}
	}
	if len(all) == 1 && parsable && !pinned(s.Pod.Template) {
		return nil // it is the node selector and node affinity together, which may become a preference
	}
	return s.addSpec(verdict.Change{NodeRequirement: &found}, r.becomes(nil))
}

// contradicts reports whether no candidate meets both a requirement and another one on the same key that holds with it, though some
// meet each. It looks at the first maxTriedRules of the others.
func (s *search) contradicts(r *requirementAt, meeting nodeset.Set, all []requirementAt) bool {
	left := maxTriedRules
	return !meeting.Empty() && slices.ContainsFunc(all, func(o requirementAt) bool {
		if o.Key != r.Key || o.term == r.term && o.expression == r.expression || o.term >= 0 && r.term >= 0 && o.term != r.term {
			return false
		}
		if left--; left < 0 || s.ctx.Err() != nil {
			return false
		}
		nodes, _ := s.State.Meeting(o.Requirement)
		nodes.And(s.candidates)
		return !nodes.Empty() && !nodes.Meets(meeting)
	})
}

// changeValue offers the values of the label with which a node is feasible, the most similar to the present ones first.
func (s *search) changeValue(r *requirementAt, found verdict.NodeRequirement, feasible nodeset.Set) error {
	key := s.State.Symbols.Intern(r.Key)
	var values []string
	seen := make(map[string]bool)
	for _, v := range r.Values { // they are no others
		seen[v] = true
	}
	for n := range feasible.All() {
		if id, has := s.State.Label(n, key); has {
			if v := s.State.Symbols.Name(id); !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
	}
	if err := s.sortBySimilarity(values, r.Values); err != nil {
		return err
	}
	for _, v := range values[:min(len(values), maxTriedValues)] {
		to := api.Requirement{Key: r.Key, Operator: api.In, Values: []string{v}}
		if len(found.Values) == 0 {
			found.To = &to
		}
		node, err := s.firstFeasible(s.State, s.compile(r.becomes(&to)), s.candidates)
		if err != nil {
			return err
		}
		if node != nil {
			found.Values = append(found.Values, v)
		}
	}
	if len(found.Values) == 0 {
		return nil
	}
	return s.addSpec(verdict.Change{NodeRequirement: &found}, r.becomes(found.To))
}

// renameKey replaces a label key that no candidate has by a similar key whose label meets the requirement.
func (s *search) renameKey(r *requirementAt, found verdict.NodeRequirement, feasible nodeset.Set) error {
	for _, key := range similarKeys(r.Key, s.keysOf(feasible)) {
		if _, taken := s.Pod.Spec().NodeSelector.Get(key); taken && r.term < 0 {
			continue
		}
		to := r.Requirement
		to.Key = key
		found.To = &to
		before := len(s.found)
		err := s.addSpec(verdict.Change{NodeRequirement: &found}, r.becomes(&to))
		if err != nil || s.suffices(before) {
			return err
		}
	}
	return nil
}

// renameTopologyKeys replaces the topology key of a constraint or affinity term, if no candidate has it, by a similar key.
func (s *search) renameTopologyKeys() error {
	missing := func(key string) bool {
		return !s.candidates.Meets(s.State.Column(s.State.Symbols.Intern(key)).Having)
	}
	var keys []string // of the candidates, once they are needed
	rename := func(rule verdict.PodRule, in func(*api.PodSpec) *string) error {
		if keys == nil {
			keys = s.keysOf(s.candidates)
		}
		before := len(s.found)
		for _, key := range similarKeys(rule.TopologyKey, keys) {
			c := verdict.Change{TopologyKey: &verdict.RenamedTopologyKey{Rule: rule, To: key}}
			err := s.addSpec(c, func(spec *api.PodSpec) { *in(spec) = key })
			if err != nil || s.suffices(before) {
				return err
			}
		}
		return s.ctx.Err()
	}
	spec := s.Pod.Spec()
	for i := range spec.Spread[:min(len(spec.Spread), maxTriedRules)] {
		if k := &spec.Spread[i]; !k.ScheduleAnyway && missing(k.TopologyKey) {
			err := rename(spreadRule(i, k), func(spec *api.PodSpec) *string { return &ownSpread(spec, i).TopologyKey })
			if err != nil {
				return err
			}
		}
	}
	terms := requiredTerms(spec.PodAffinity)
	for i := range terms[:min(len(terms), maxTriedRules)] {
		if t := &terms[i]; missing(t.TopologyKey) {
			err := rename(termRule(verdict.PodAffinity, i, t), func(spec *api.PodSpec) *string {
				return &ownTerm(&spec.PodAffinity, i).TopologyKey
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
