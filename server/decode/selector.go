package decode

import (
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// labelSelector decodes a label selector; nil stays nil. Keys and values must have the syntax of labels, because
// kube-scheduler fails on selectors whose parts have not.
func (d *decoder) labelSelector(parent *path, field string, in *stowagev1.LabelSelector) *api.LabelSelector {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := &api.LabelSelector{MatchLabels: d.labels(&at, "match_labels", in.GetMatchLabels())}
	d.matchLabels(&at, out.MatchLabels)
	if !d.within(&at, "match_expressions", len(in.GetMatchExpressions()), MaxRequirements) {
		return out
	}
	for i, r := range in.GetMatchExpressions() {
		at := at.item("match_expressions", i)
		out.MatchExpressions = append(out.MatchExpressions, d.labelRequirement(&at, r.GetKey(), r.GetOperator(), r.GetValues()))
	}
	return out
}

// matchLabels checks the syntax of labels of which nothing else is wrong.
func (d *decoder) matchLabels(at *path, labels api.Labels) {
	for _, l := range labels {
		if !isLabelKey(l.Key) && l.Key != "" && len(l.Key) <= MaxLabelKeyBytes {
			d.refuse(at.entry("match_labels", l.Key), "the key "+labelKeySyntax)
		} else if !isLabelValue(l.Value) && len(l.Value) <= MaxLabelValueBytes {
			d.refuse(at.entry("match_labels", l.Key), "the value "+labelValueSyntax)
		}
	}
}

func (d *decoder) labelRequirement(at *path, key string, operator stowagev1.LabelSelectorOperator, values []string) api.Requirement {
	out := api.Requirement{Key: key, Values: values}
	switch operator {
	case stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_IN:
		out.Operator = api.In
	case stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_NOT_IN:
		out.Operator = api.NotIn
	case stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_EXISTS:
		out.Operator = api.Exists
	case stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST:
		out.Operator = api.DoesNotExist
	default:
		d.refuse(at.field("operator"), "must be IN, NOT_IN, EXISTS or DOES_NOT_EXIST")
		return out
	}
	d.requirement(at, &out)
	return out
}

// badNumbers says what becomes of a GT or LT requirement whose value is no decimal integer. In a required term
// kube-scheduler lets the term match nothing; in a preferred or added one it fails.
type badNumbers bool

const (
	allowBadNumbers  badNumbers = true
	refuseBadNumbers badNumbers = false
)

func (d *decoder) nodeSelector(parent *path, field string, in *stowagev1.NodeSelector, bad badNumbers) *api.NodeSelector {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := &api.NodeSelector{}
	if !d.within(&at, "terms", len(in.GetTerms()), MaxTerms) {
		return out
	}
	for i, t := range in.GetTerms() {
		at := at.item("terms", i)
		out.Terms = append(out.Terms, d.nodeSelectorTerm(&at, t, bad))
	}
	return out
}

func (d *decoder) nodeSelectorTerm(at *path, in *stowagev1.NodeSelectorTerm, bad badNumbers) api.NodeSelectorTerm {
	var out api.NodeSelectorTerm
	if d.within(at, "match_expressions", len(in.GetMatchExpressions()), MaxRequirements) {
		for i, r := range in.GetMatchExpressions() {
			at := at.item("match_expressions", i)
			out.MatchExpressions = append(out.MatchExpressions, d.nodeRequirement(&at, r.GetKey(), r.GetOperator(), r.GetValues(), bad))
		}
	}
	if d.within(at, "match_fields", len(in.GetMatchFields()), MaxRequirements) {
		for i, r := range in.GetMatchFields() {
			at := at.item("match_fields", i)
			out.MatchFields = append(out.MatchFields, d.nodeField(&at, r.GetKey(), r.GetOperator(), r.GetValues()))
		}
	}
	return out
}

func (d *decoder) nodeRequirement(at *path, key string, operator stowagev1.NodeSelectorOperator, values []string, bad badNumbers) api.Requirement {
	out := api.Requirement{Key: key, Values: values}
	switch operator {
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN:
		out.Operator = api.In
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN:
		out.Operator = api.NotIn
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS:
		out.Operator = api.Exists
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST:
		out.Operator = api.DoesNotExist
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT:
		out.Operator = api.GreaterThan
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT:
		out.Operator = api.LessThan
	default:
		d.refuse(at.field("operator"), "must be IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT or LT")
		return out
	}
	d.requirement(at, &out)
	if bad == refuseBadNumbers && out.Operator >= api.GreaterThan && len(out.Values) == 1 {
		if _, err := strconv.ParseInt(out.Values[0], 10, 64); err != nil {
			d.refuse(at.item("values", 0), "must be a decimal integer with GT and LT")
		}
	}
	return out
}

// requirement checks the key of a requirement whose operator is known, and the values against the operator.
func (d *decoder) requirement(at *path, r *api.Requirement) {
	if !isLabelKey(r.Key) {
		d.refuse(at.field("key"), labelKeySyntax)
	}
	if !d.within(at, "values", len(r.Values), MaxValues) {
		return
	}
	switch r.Operator {
	case api.In, api.NotIn:
		if len(r.Values) == 0 {
			d.refuse(at.field("values"), "at least one is required with IN and NOT_IN")
		}
	case api.Exists, api.DoesNotExist:
		if len(r.Values) > 0 {
			d.refuse(at.field("values"), "must be empty with EXISTS and DOES_NOT_EXIST")
		}
	case api.GreaterThan, api.LessThan:
		if len(r.Values) != 1 {
			d.refuse(at.field("values"), "has %d entries, exactly one is required with GT and LT", len(r.Values))
		}
	}
	for i, v := range r.Values {
		if !isLabelValue(v) {
			d.refuse(at.item("values", i), labelValueSyntax)
		}
	}
}

// nodeField decodes a requirement on a node's fields.
func (d *decoder) nodeField(at *path, key string, operator stowagev1.NodeSelectorOperator, values []string) api.Requirement {
	out := api.Requirement{Key: key, Values: values}
	if out.Key != "metadata.name" {
		d.refuse(at.field("key"), `is %s, only "metadata.name" is allowed`, quote(out.Key))
	}
	switch operator {
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN:
		out.Operator = api.In
	case stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN:
		out.Operator = api.NotIn
	default:
		d.refuse(at.field("operator"), "must be IN or NOT_IN")
	}
	if len(out.Values) != 1 {
		d.refuse(at.field("values"), "has %d entries, exactly one is required", len(out.Values))
	}
	return out
}
