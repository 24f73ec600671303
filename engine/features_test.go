package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func declaring(name string, features ...string) *enginetest.Node {
	n := enginetest.MakeNode(name)
	n.DeclaredFeatures = features
	return n
}

// requiring returns a pod that requires features.
func requiring(features ...string) *enginetest.Pod {
	p := enginetest.MakePod("p")
	template := *p.Template
	template.Spec.RequiredNodeFeatures = features
	p.Template = &template
	return p
}

// TestRequiredFeatures: a node declares what its class does, in any order, and an explanation names what a node lacks.
func TestRequiredFeatures(t *testing.T) {
	class := &api.NodeClass{NodeSpec: api.NodeSpec{DeclaredFeatures: []string{"B"}}}
	classed := declaring("classed", "C", "A")
	classed.Class = class
	c := enginetest.Cluster(declaring("none"), declaring("one", "A"), classed, declaring("all", "C", "B", "A"))
	c.Classes = []*api.NodeClass{class}
	compiled, err := engine.Compile(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	pod := requiring("B", "A", "B")
	got, err := compiled.Filter(context.Background(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.Feasible, []uint32{2, 3})
	want := []verdict.Rejection{{
		Plugin: verdict.NodeDeclaredFeatures, Code: verdict.UnschedulableAndUnresolvable,
		Reasons: []verdict.Reason{verdict.ReasonOf(verdict.ReasonDeclaredFeatures)}, Nodes: []uint32{0, 1},
	}}
	if diff := cmp.Diff(want, got.Rejections); diff != "" {
		t.Error(diff)
	}
	undeclared := []verdict.UndeclaredFeature{{Feature: "A", Nodes: []uint32{0}}, {Feature: "B", Nodes: []uint32{0, 1}}}
	if diff := cmp.Diff(undeclared, got.Explanation.Undeclared); diff != "" {
		t.Error(diff)
	}
}

// TestAddedNodeDeclaresFeatures: a further node is like a full one that declares the feature, and not like one with room that does not.
func TestAddedNodeDeclaresFeatures(t *testing.T) {
	c := enginetest.Cluster(declaring("free").Allocate("cpu", 1000, "pods", 10), declaring("full", "A").Allocate("cpu", 1000, "pods", 10).Run(enginetest.MakePod("r").Request("cpu", 1000)))
	compiled, err := engine.Compile(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	pod := requiring("A").Request("cpu", 500)
	got, err := compiled.Filter(context.Background(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Changes: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range got.Changes {
		if change.AddedNode != nil && change.AddedNode.Like == 1 {
			return
		}
	}
	t.Errorf("the changes are %+v", got.Changes)
}
