package cluster

import (
	"reflect"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestClaimSpecKey changes each field of a claim's spec, and expects another key each time.
func TestClaimSpecKey(t *testing.T) {
	selector := &api.LabelSelector{MatchLabels: api.LabelsOf(map[string]string{"a": "b"})}
	others := map[string]any{
		"StorageClassName": "fast", "StorageRequest": new(int64(1)), "VolumeMode": api.Block, "Selector": selector,
		"VolumeAttributesClassName": "gold",
	}
	seen := map[string]string{string(appendClaimSpec(nil, &api.ClaimSpec{})): "no field"}
	check := func(what string, spec *api.ClaimSpec) {
		key := string(appendClaimSpec(nil, spec))
		if other, found := seen[key]; found {
			t.Errorf("%s has the key of %s", what, other)
		}
		seen[key] = what
	}
	for field := range reflect.TypeFor[api.ClaimSpec]().Fields() {
		var spec api.ClaimSpec
		to := reflect.ValueOf(&spec).Elem().FieldByIndex(field.Index)
		if field.Name == "AccessModes" {
			for i := range to.NumField() {
				to.Field(i).SetBool(true)
				check(field.Type.Field(i).Name, &spec)
			}
			continue
		}
		to.Set(reflect.ValueOf(others[field.Name]))
		check(field.Name, &spec)
	}
	check("a request of 0", &api.ClaimSpec{StorageRequest: new(int64)})
	check("an empty selector", &api.ClaimSpec{Selector: &api.LabelSelector{}})
	check("an expression", &api.ClaimSpec{Selector: &api.LabelSelector{MatchExpressions: []api.Requirement{{Key: "a", Values: []string{"b"}}}}})
}
