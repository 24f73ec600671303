package decode

import (
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// leniency says how much of a selector kube-scheduler may fail to parse. The API server lets pods keep such selectors, and
// the engine decides about them as kube-scheduler does.
type leniency uint8

const (
	// strict: nothing. kube-scheduler does not start with such a profile.
	strict leniency = iota
	// lenientValues: values that are no label values, or no integers with GT and LT.
	lenientValues
	// lenient: keys and the number of values as well, as in the spread constraints of pods that older releases let through
	// (pkg/apis/core/validation/validation.go AllowInvalidTopologySpreadConstraintLabelSelector, v1.37).
	lenient
)

// labelSelector decodes a label selector; nil stays nil.
func (d *decoder) labelSelector(parent *path, field string, in *stowagev1.LabelSelector, l leniency) *api.LabelSelector {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := &api.LabelSelector{MatchLabels: d.matchLabels(&at, in.GetMatchLabels(), l)}
	if !d.within(&at, "match_expressions", len(in.GetMatchExpressions()), MaxRequirements) {
		return out
	}
	for i, r := range in.GetMatchExpressions() {
		at := at.item("match_expressions", i)
		out.MatchExpressions = append(out.MatchExpressions, d.labelRequirement(&at, r.GetKey(), r.GetOperator(), r.GetValues(), l))
	}
	return out
}

func (d *decoder) matchLabels(at *path, m map[string]string, l leniency) api.Labels {
	if !d.within(at, "match_labels", len(m), MaxLabels) {
		return nil
	}
	labels := api.LabelsOf(m)
	d.checkMatchLabels(at, labels, l)
	return labels
}

func (d *decoder) checkMatchLabels(at *path, labels api.Labels, l leniency) {
	for _, label := range labels {
		if l < lenient && !isLabelKey(label.Key) {
			d.refuse(at.entry("match_labels", label.Key), "the key "+labelKeySyntax)
		} else if l < lenientValues && !isLabelValue(label.Value) {
			d.refuse(at.entry("match_labels", label.Key), "the value "+labelValueSyntax)
		}
	}
}

func (d *decoder) labelRequirement(
	at *path, key string, operator stowagev1.LabelSelectorOperator, values []string, l leniency,
) api.Requirement {
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
		d.refuse(at.field("operator"), "must be LABEL_SELECTOR_OPERATOR_IN, LABEL_SELECTOR_OPERATOR_NOT_IN, LABEL_SELECTOR_OPERATOR_EXISTS or LABEL_SELECTOR_OPERATOR_DOES_NOT_EXIST")
		return out
	}
	d.requirement(at, &out, l)
	return out
}

func (d *decoder) nodeSelector(parent *path, field string, in *stowagev1.NodeSelector, l leniency) *api.NodeSelector {
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
		out.Terms = append(out.Terms, d.nodeSelectorTerm(&at, t, l))
	}
	return out
}

func (d *decoder) nodeSelectorTerm(at *path, in *stowagev1.NodeSelectorTerm, l leniency) api.NodeSelectorTerm {
	var out api.NodeSelectorTerm
	if d.within(at, "match_expressions", len(in.GetMatchExpressions()), MaxRequirements) {
		for i, r := range in.GetMatchExpressions() {
			at := at.item("match_expressions", i)
			out.MatchExpressions = append(out.MatchExpressions, d.nodeRequirement(&at, r.GetKey(), r.GetOperator(), r.GetValues(), l))
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

func (d *decoder) nodeRequirement(
	at *path, key string, operator stowagev1.NodeSelectorOperator, values []string, l leniency,
) api.Requirement {
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
		d.refuse(at.field("operator"), "must be NODE_SELECTOR_OPERATOR_IN, NODE_SELECTOR_OPERATOR_NOT_IN, NODE_SELECTOR_OPERATOR_EXISTS, NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST, NODE_SELECTOR_OPERATOR_GT or NODE_SELECTOR_OPERATOR_LT")
		return out
	}
	d.requirement(at, &out, l)
	if l == strict && out.Operator >= api.GreaterThan && len(out.Values) == 1 {
		if _, err := strconv.ParseInt(out.Values[0], 10, 64); err != nil {
			d.refuse(at.item("values", 0), "must be a decimal integer with this operator")
		}
	}
	return out
}

// requirement checks the key of a requirement whose operator is known, and the values against the operator.
func (d *decoder) requirement(at *path, r *api.Requirement, l leniency) {
	if l < lenient && !isLabelKey(r.Key) {
		d.refuse(at.field("key"), labelKeySyntax)
	}
	if !d.within(at, "values", len(r.Values), MaxValues) || l == lenient {
		return
	}
	switch r.Operator {
	case api.In, api.NotIn:
		if len(r.Values) == 0 {
			d.refuse(at.field("values"), "at least one is required with this operator")
		}
	case api.Exists, api.DoesNotExist:
		if len(r.Values) > 0 {
			d.refuse(at.field("values"), "must be empty with this operator")
		}
	case api.GreaterThan, api.LessThan:
		if len(r.Values) != 1 {
			d.refuse(at.field("values"), "has %d entries, exactly one is required with this operator", len(r.Values))
		}
	}
	if l == lenientValues {
		return
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
		d.refuse(at.field("operator"), "must be NODE_SELECTOR_OPERATOR_IN or NODE_SELECTOR_OPERATOR_NOT_IN")
	}
	if len(out.Values) != 1 {
		d.refuse(at.field("values"), "has %d entries, exactly one is required", len(out.Values))
	}
	return out
}
