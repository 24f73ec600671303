package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (r *reader) taint(at *path, in *scan) (out api.Taint) {
	on := stowagev1.TaintEffect_TAINT_EFFECT_UNSPECIFIED
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Key = in.text()
		case sized(2):
			out.Value = in.text()
		case number(3):
			on = stowagev1.TaintEffect(in.nonzero())
		default:
			in.fail()
		}
	}
	r.name(at, "key", out.Key, MaxLabelKeyBytes)
	r.length(at.field("value"), out.Value, MaxLabelValueBytes)
	var ok bool
	if out.Effect, ok = taintEffect(on); !ok || out.Effect == api.EveryEffect {
		r.refuse(at.field("effect"), "must be TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_PREFER_NO_SCHEDULE or TAINT_EFFECT_NO_EXECUTE")
	}
	return out
}

func (r *reader) toleration(at *path, in *scan) (out api.Toleration) {
	operator, on := stowagev1.TolerationOperator_TOLERATION_OPERATOR_UNSPECIFIED, stowagev1.TaintEffect_TAINT_EFFECT_UNSPECIFIED
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Key = in.text()
		case number(2):
			operator = stowagev1.TolerationOperator(in.nonzero())
		case sized(3):
			out.Value = in.text()
		case number(4):
			on = stowagev1.TaintEffect(in.nonzero())
		default:
			in.fail()
		}
	}
	r.length(at.field("key"), out.Key, MaxLabelKeyBytes)
	r.length(at.field("value"), out.Value, MaxLabelValueBytes)
	switch operator {
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_UNSPECIFIED,
		stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL:
		out.Operator = api.TolerationEqual
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS:
		out.Operator = api.TolerationExists
		if out.Value != "" {
			r.refuse(at.field("value"), "must be empty with TOLERATION_OPERATOR_EXISTS")
		}
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT:
		out.Operator = api.TolerationLessThan
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT:
		out.Operator = api.TolerationGreaterThan
	default:
		r.refuse(at.field("operator"), "must be TOLERATION_OPERATOR_EQUAL, TOLERATION_OPERATOR_EXISTS, TOLERATION_OPERATOR_LT or TOLERATION_OPERATOR_GT")
	}
	if out.Key == "" && out.Operator != api.TolerationExists {
		r.refuse(at.field("operator"), "must be TOLERATION_OPERATOR_EXISTS if key is empty")
	}
	effect, ok := taintEffect(on)
	if !ok {
		r.refuse(at.field("effect"), "must be TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_PREFER_NO_SCHEDULE, TAINT_EFFECT_NO_EXECUTE or unspecified")
	}
	out.Effect = effect
	return out
}

func taintEffect(e stowagev1.TaintEffect) (api.TaintEffect, bool) {
	switch e {
	case stowagev1.TaintEffect_TAINT_EFFECT_UNSPECIFIED:
		return api.EveryEffect, true
	case stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE:
		return api.NoSchedule, true
	case stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE:
		return api.PreferNoSchedule, true
	case stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE:
		return api.NoExecute, true
	default:
		return 0, false
	}
}
