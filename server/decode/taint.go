package decode

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (r *reader) taint(at *path, in *scan) (out api.Taint) {
	out.Key = in.text(1)
	out.Value = in.text(2)
	effect := stowagev1.TaintEffect(in.int32(3))
	r.name(at, "key", out.Key, MaxLabelKeyBytes)
	r.length(at.field("value"), out.Value, MaxLabelValueBytes)
	out.Effect, _ = enum(r.problems, at, "effect", effect, api.NoSchedule, api.PreferNoSchedule, api.NoExecute)
	return out
}

func (r *reader) toleration(at *path, in *scan) (out api.Toleration) {
	out.Key = in.text(1)
	operator := cmp.Or(stowagev1.TolerationOperator(in.int32(2)), stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL)
	out.Value = in.text(3)
	effect := in.int32(4)
	r.length(at.field("key"), out.Key, MaxLabelKeyBytes)
	r.length(at.field("value"), out.Value, MaxLabelValueBytes)
	out.Operator, _ = enum(r.problems, at, "operator", operator,
		api.TolerationEqual, api.TolerationExists, api.TolerationLessThan, api.TolerationGreaterThan)
	if out.Operator == api.TolerationExists && out.Value != "" {
		r.refuse(at.field("value"), notAllowed, "must be empty with TOLERATION_OPERATOR_EXISTS")
	}
	if out.Key == "" && out.Operator != api.TolerationExists {
		r.refuse(at.field("operator"), notAllowed, "must be TOLERATION_OPERATOR_EXISTS if key is empty")
	}
	effects := [...]api.TaintEffect{api.EveryEffect, api.NoSchedule, api.PreferNoSchedule, api.NoExecute}
	if uint32(effect) >= uint32(len(effects)) {
		r.refuse(at.field("effect"), unknownValue, "must be TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_PREFER_NO_SCHEDULE, "+
			"TAINT_EFFECT_NO_EXECUTE or unspecified")
		return out
	}
	out.Effect = effects[effect]
	return out
}
