package decode_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// The contract carries annotations by which callers may check their requests. They are not evaluated when serving,
// because evaluation walks the cluster (21 ms for 5,000 nodes) and would report its findings apart from the others.
// Instead, the decoder must refuse every field that they refuse.
func checkAnnotations(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, v protovalidate.Validator, r *stowagev1.PlaceRequest) {
	t.Helper()
	err := v.Validate(r)
	if err == nil {
		return
	}
	var refused *protovalidate.ValidationError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	_, err = decode.Place(r)
	var e *decode.Error
	if !errors.As(err, &e) {
		t.Fatal("the annotations refuse what is decoded:", refused)
	}
	covered := func(field string) bool {
		return slices.ContainsFunc(e.Violations, func(v decode.Violation) bool {
			// The decoder does not read the elements of a list that is too long, and says which element is there already.
			return v.Field == field || strings.HasPrefix(field, v.Field+"[") || strings.HasPrefix(v.Field, field+"[")
		})
	}
	if len(e.Violations) > decode.MaxViolations {
		return // the report is cut off
	}
	for _, violation := range refused.Violations {
		if f := protovalidate.FieldPathString(violation.Proto.GetField()); !covered(f) {
			t.Errorf("the annotations refuse %s, the decoder does not: %v", f, e.Violations)
		}
	}
}

func TestAnnotationsOnRandomProfiles(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(request()); err != nil {
		t.Fatalf("the annotations refuse the sound request: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := request()
		if rapid.Bool().Draw(t, "no cluster") {
			r.Context.Base = nil
		}
		r.Context.Profile.AddedAffinity = nil // has no annotations, and its problems crowd the others out
		fill(t, r.GetContext().GetProfile().ProtoReflect(), 2)
		checkAnnotations(t, v, r)
	})
}

func TestAnnotationsOnLongLists(t *testing.T) {
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *stowagev1.Profile, n int){
		"plugin_weights": func(p *stowagev1.Profile, n int) { p.PluginWeights = make([]*stowagev1.PluginWeight, n) },
		"resources": func(p *stowagev1.Profile, n int) {
			p.ScoringStrategy.Resources = make([]*stowagev1.ResourceWeight, n)
		},
		"shape": func(p *stowagev1.Profile, n int) {
			p.ScoringStrategy.Shape = make([]*stowagev1.UtilizationShapePoint, n)
		},
		"ignored": func(p *stowagev1.Profile, n int) {
			p.IgnoredResources = make([]string, n)
			for i := range n {
				p.IgnoredResources[i] = strconv.Itoa(i)
			}
		},
		"groups": func(p *stowagev1.Profile, n int) {
			p.IgnoredResourceGroups = make([]string, n)
			for i := range n {
				p.IgnoredResourceGroups[i] = strconv.Itoa(i)
			}
		},
		"balanced": func(p *stowagev1.Profile, n int) {
			p.BalancedAllocationResources = make([]string, n)
			for i := range n {
				p.BalancedAllocationResources[i] = strconv.Itoa(i)
			}
		},
		"disabled_filters": func(p *stowagev1.Profile, n int) {
			p.DisabledFilters = make([]stowagev1.Plugin, n)
		},
		"constraints": func(p *stowagev1.Profile, n int) {
			p.DefaultSpread.Constraints = make([]*stowagev1.TopologySpreadConstraint, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{64, 65, 101, 102, 1024, 1025} {
				r := request()
				change(r.GetContext().GetProfile(), n)
				checkAnnotations(t, v, r)
			}
		})
	}
}
