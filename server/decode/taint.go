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
			d.refuse(at.field("effect"), "must be NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE")
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
		out[i] = api.Toleration{Key: t.GetKey(), Value: t.GetValue()}
		d.length(at.field("key"), t.GetKey(), MaxLabelKeyBytes)
		d.length(at.field("value"), t.GetValue(), MaxLabelValueBytes)
		switch t.GetOperator() {
		case stowagev1.TolerationOperator_TOLERATION_OPERATOR_UNSPECIFIED,
			stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL:
			out[i].Operator = api.TolerationEqual
		case stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS:
			out[i].Operator = api.TolerationExists
			if t.GetValue() != "" {
				d.refuse(at.field("value"), "must be empty with EXISTS")
			}
		case stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT:
			out[i].Operator = api.TolerationLessThan
		case stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT:
			out[i].Operator = api.TolerationGreaterThan
		default:
			d.refuse(at.field("operator"), "must be EQUAL, EXISTS, LT or GT")
		}
		if t.GetKey() == "" && out[i].Operator != api.TolerationExists {
			d.refuse(at.field("operator"), "must be EXISTS if key is empty")
		}
		effect, ok := taintEffect(t.GetEffect())
		if !ok {
			d.refuse(at.field("effect"), "must be NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE or unspecified")
		}
		out[i].Effect = effect
	}
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
