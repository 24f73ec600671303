package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (d *decoder) taints(at *path, in []*stowagev1.Taint) []api.Taint {
	if len(in) == 0 || !d.within(at, "taints", len(in), MaxTaints) {
		return nil
	}
	out := make([]api.Taint, len(in))
	for i, t := range in {
		at := at.item("taints", i)
		out[i] = api.Taint{Key: t.GetKey(), Value: t.GetValue()}
		d.name(&at, "key", t.GetKey(), MaxLabelKeyBytes)
		d.length(at.field("value"), t.GetValue(), MaxLabelValueBytes)
		effect, ok := taintEffect(t.GetEffect())
		if !ok || effect == api.EveryEffect {
			d.refuse(at.field("effect"), "must be TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_PREFER_NO_SCHEDULE or TAINT_EFFECT_NO_EXECUTE")
		}
		out[i].Effect = effect
	}
	return out
}

func (d *decoder) tolerations(at *path, in []*stowagev1.Toleration) []api.Toleration {
	if len(in) == 0 || !d.within(at, "tolerations", len(in), MaxTolerations) {
		return nil
	}
	out := make([]api.Toleration, len(in))
	for i, t := range in {
		at := at.item("tolerations", i)
		out[i] = d.toleration(&at, t.GetKey(), t.GetOperator(), t.GetValue(), t.GetEffect())
	}
	return out
}

func (d *decoder) toleration(at *path, key string, operator stowagev1.TolerationOperator, value string, on stowagev1.TaintEffect) api.Toleration {
	out := api.Toleration{Key: key, Value: value}
	d.length(at.field("key"), key, MaxLabelKeyBytes)
	d.length(at.field("value"), value, MaxLabelValueBytes)
	switch operator {
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_UNSPECIFIED,
		stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL:
		out.Operator = api.TolerationEqual
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS:
		out.Operator = api.TolerationExists
		if value != "" {
			d.refuse(at.field("value"), "must be empty with TOLERATION_OPERATOR_EXISTS")
		}
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT:
		out.Operator = api.TolerationLessThan
	case stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT:
		out.Operator = api.TolerationGreaterThan
	default:
		d.refuse(at.field("operator"), "must be TOLERATION_OPERATOR_EQUAL, TOLERATION_OPERATOR_EXISTS, TOLERATION_OPERATOR_LT or TOLERATION_OPERATOR_GT")
	}
	if key == "" && out.Operator != api.TolerationExists {
		d.refuse(at.field("operator"), "must be TOLERATION_OPERATOR_EXISTS if key is empty")
	}
	effect, ok := taintEffect(on)
	if !ok {
		d.refuse(at.field("effect"), "must be TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_PREFER_NO_SCHEDULE, TAINT_EFFECT_NO_EXECUTE or unspecified")
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
