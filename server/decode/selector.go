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

func (r *reader) matchLabels(at *path, in *scan, out *api.LabelSelector) {
	out.MatchLabels = r.entries(at, in, 1, "match_labels")
	for _, label := range out.MatchLabels {
		if r.selectors < lenient && !isLabelKey(label.Key) {
			r.refuse(at.entry("match_labels", label.Key), invalidSyntax, "the key "+labelKeySyntax)
		} else if r.selectors < lenientValues && !isLabelValue(label.Value) {
			r.refuse(at.entry("match_labels", label.Key), invalidSyntax, "the value "+labelValueSyntax)
		}
	}
}

// expression is a requirement of a selector whose operator is not decoded yet.
type expression struct {
	api.Requirement
	operator int32
	tooLong  bool // values are refused as too many
}

func (r *reader) expression(at *path, in *scan) (out expression) {
	out.Key = in.text(1)
	out.operator = in.int32(2)
	present := in.nextIs(sized(3))
	out.Values = r.texts(at, in, 3, "values", MaxValues)
	out.tooLong = present && out.Values == nil
	return out
}

func (r *reader) labelRequirement(at *path, in *scan) api.Requirement {
	out := r.expression(at, in)
	var known bool
	out.Operator, known = enum(r.problems, at, "operator", stowagev1.LabelSelectorOperator(out.operator),
		api.In, api.NotIn, api.Exists, api.DoesNotExist)
	if known {
		r.requirement(at, &out)
	}
	return out.Requirement
}

func (r *reader) nodeRequirement(at *path, in *scan) api.Requirement {
	out := r.expression(at, in)
	var known bool
	out.Operator, known = enum(r.problems, at, "operator", stowagev1.NodeSelectorOperator(out.operator),
		api.In, api.NotIn, api.Exists, api.DoesNotExist, api.GreaterThan, api.LessThan)
	if !known {
		return out.Requirement
	}
	r.requirement(at, &out)
	if r.selectors == strict && out.Operator >= api.GreaterThan && len(out.Values) == 1 {
		if _, err := strconv.ParseInt(out.Values[0], 10, 64); err != nil {
			r.refuse(at.item("values", 0), invalidSyntax, "must be a decimal integer with this operator")
		}
	}
	return out.Requirement
}

// requirement checks the key and values of a requirement with a known operator.
func (r *reader) requirement(at *path, q *expression) {
	if r.selectors < lenient && !isLabelKey(q.Key) {
		r.refuse(at.field("key"), invalidSyntax, labelKeySyntax)
	}
	if q.tooLong || r.selectors == lenient {
		return
	}
	switch n := len(q.Values); q.Operator {
	case api.In, api.NotIn:
		if n == 0 {
			r.refuse(at.field("values"), required, "at least one is required with this operator")
		}
	case api.Exists, api.DoesNotExist:
		if n > 0 {
			r.refuse(at.field("values"), notAllowed, "must be empty with this operator")
		}
	case api.GreaterThan, api.LessThan:
		if n != 1 {
			r.refuse(at.field("values"), wrongCount, "has %d entries, exactly one is required with this operator", n)
		}
	}
	if r.selectors == lenientValues {
		return
	}
	for i, v := range q.Values {
		if !isLabelValue(v) {
			r.refuse(at.item("values", i), invalidSyntax, labelValueSyntax)
		}
	}
}

// nodeField reads a requirement on a node's fields.
func (r *reader) nodeField(at *path, in *scan) api.Requirement {
	out := r.expression(at, in)
	if out.Key != "metadata.name" {
		r.refuse(at.field("key"), unknownValue, `is %s, only "metadata.name" is allowed`, quote(out.Key))
	}
	out.Operator, _ = enum(r.problems, at, "operator", stowagev1.NodeSelectorOperator(out.operator), api.In, api.NotIn)
	if len(out.Values) != 1 && !out.tooLong {
		r.refuse(at.field("values"), wrongCount, "has %d entries, exactly one is required", len(out.Values))
	}
	return out.Requirement
}
