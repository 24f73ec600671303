package enginetest_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestEveryFieldIsDrawn fails for a field of api that no random cluster or pod ever has, so that random tests are about every
// field.
func TestEveryFieldIsDrawn(t *testing.T) {
	drawn := make(map[string]bool)
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c, pods := enginetest.RandomShared(rng)
		enginetest.RandomVictims(rng, c, pods)
		enginetest.RandomFields(rng, c, pods)
		see(reflect.ValueOf(c), drawn)
		see(reflect.ValueOf(pods), drawn)
	}
	var missing []string
	walk(reflect.TypeFor[api.Cluster](), make(map[reflect.Type]bool), func(field string) {
		if !drawn[field] && !slices.Contains(ofRequests, field) {
			missing = append(missing, field)
		}
	})
	slices.Sort(missing)
	for _, field := range missing {
		t.Errorf("%s: no random cluster has it", field)
	}
}

// ofRequests are the fields of pod groups that only groups of requests have.
var ofRequests = []string{"PodGroup.Entries", "PodGroup.Joint", "PodGroup.Preferred", "PodGroup.Steps"}

// see records the fields of structs that are not zero.
func see(v reflect.Value, drawn map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			see(v.Elem(), drawn)
		}
	case reflect.Slice:
		for i := range v.Len() {
			see(v.Index(i), drawn)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			see(v.MapIndex(key), drawn)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				drawn[name(v.Type(), i)] = true
				see(v.Field(i), drawn)
			}
		}
	}
}

// walk passes the fields of all structs that a type holds.
func walk(t reflect.Type, seen map[reflect.Type]bool, use func(field string)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		walk(t.Elem(), seen, use)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			use(name(t, i))
			walk(t.Field(i).Type, seen, use)
		}
	}
}

func name(t reflect.Type, field int) string { return t.Name() + "." + t.Field(field).Name }
