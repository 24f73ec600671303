package rule_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestSetHonoursEveryKind fails for a kind of rule that Set has, and that its methods ignore.
func TestSetHonoursEveryKind(t *testing.T) {
	full, pod := enginetest.RejectedByEveryKind()
	c, err := cluster.Compile(context.Background(), full)
	if err != nil {
		t.Fatal(err)
	}
	state := cluster.NewState(context.Background(), c)
	d := decide.New(decide.NewFramework(api.Kube137(), append(slices.Clone(registry.Plugins), enginetest.OneLicense)), state, state.Compile(&pod.Pod))
	all := nodeset.Full(c.Len())
	for kind, rules := range enginetest.Kinds(d.Rules()) {
		if reflect.ValueOf(*rules).IsZero() {
			t.Errorf("%s: no such rule rejects the node of RejectedByEveryKind", kind)
			continue
		}
		if rules.Empty() {
			t.Errorf("%s: Empty ignores the kind", kind)
		}
		if rejected := rules.Rejected(all); rejected == nil || !rejected.Has(0) {
			t.Errorf("%s: Rejected ignores the kind", kind)
		}
		if _, rejected := rules.RejectWith(verdict.NoPlugin, 0, nil); !rejected {
			t.Errorf("%s: RejectWith ignores the kind", kind)
		}
		if rules.AllowsWith(0, nil) {
			t.Errorf("%s: AllowsWith ignores the kind", kind)
		}
	}
}
