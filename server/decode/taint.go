package decode

import "github.com/stowage-scheduler/stowage/engine/api"

func (r *reader) checkToleration(at *path, t *api.Toleration) {
	if t.Operator == api.TolerationExists && t.Value != "" {
		r.refuse(at.field("value"), notAllowed, "must be empty with TOLERATION_OPERATOR_EXISTS")
	}
	if t.Key == "" && t.Operator != api.TolerationExists {
		r.refuse(at.field("operator"), notAllowed, "must be TOLERATION_OPERATOR_EXISTS if key is empty")
	}
}
