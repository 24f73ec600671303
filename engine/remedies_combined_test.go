package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// remedies returns the changes that are offered for a pod. Each does what it claims.
func remedies(t *testing.T, stated *api.Cluster, pod *enginetest.Pod) []verdict.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := compiled(t, stated).Filter(ctx, &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Changes: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Changes {
		if diff := (&remedied{t, stated, &pod.Pod}).check(&got.Changes[i]); diff != "" {
			t.Errorf("%s: %s", kindName(&got.Changes[i]), diff)
		}
	}
	return got.Changes
}

// TestRemediesInOneList combines a change with one that takes an entry before it out of the same list: its index refers to the
// pod's own spec.
func TestRemediesInOneList(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	t.Run("expressions", func(t *testing.T) {
		pod := enginetest.MakePod("agent")
		pod.Template.Controller.Kind = api.DaemonSet // whose node affinity never becomes a preference: it names the node
		pod.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{{
			MatchExpressions: []api.Requirement{
				{Key: zone, Operator: api.In, Values: []string{"z9"}}, {Key: "disk", Operator: api.In, Values: []string{"nvme"}},
			},
			MatchFields: []api.Requirement{{Key: "metadata.name", Operator: api.In, Values: []string{"n"}}},
		}}}}
		changes := remedies(t, enginetest.Cluster(enginetest.MakeNode("n").Label("disk", "ssd")), pod)
		if len(changes) == 0 || len(changes[0].Combined) != 2 {
			t.Fatal(changes)
		}
		value, gone := changes[0].Combined[0].NodeRequirement, changes[0].Combined[1].NodeRequirement
		if value.Expression != 1 || value.To.Values[0] != "ssd" || gone.Expression != 0 || gone.To != nil {
			t.Errorf("%+v, %+v", value, gone)
		}
	})
	t.Run("affinity terms", func(t *testing.T) {
		pod := enginetest.MakePod("web").
			Affinity(zone, enginetest.Selects("app", "db")).Affinity(zone, enginetest.Selects("app", "cache"))
		cache := enginetest.MakePod("cache").Namespace("cache").Label("app", "cache")
		changes := remedies(t, enginetest.Cluster(enginetest.MakeNode("n").Zone("a").Run(cache)), pod)
		if len(changes) == 0 || len(changes[0].Combined) != 2 {
			t.Fatal(changes)
		}
		namespace, preferred := changes[0].Combined[0].Namespaces, changes[0].Combined[1].PreferredRule
		if namespace == nil || namespace.Rule.Index != 1 || preferred == nil || preferred.Index != 0 {
			t.Errorf("%+v, %+v", namespace, preferred)
		}
	})
}

// TestRemediesBehindHopelessNodes has more cordoned nodes in front than the search tries. Each lacks something else, too.
func TestRemediesBehindHopelessNodes(t *testing.T) {
	cordoned := func(i int) *enginetest.Node { return enginetest.MakeNode(fmt.Sprint("cordoned-", i)).Cordon() }
	t.Run("uncordoned", func(t *testing.T) {
		var nodes []*enginetest.Node
		for i := range 40 {
			nodes = append(nodes, cordoned(i).Taint("node.kubernetes.io/not-ready", "", api.NoSchedule))
		}
		changes := remedies(t, enginetest.Cluster(append(nodes, cordoned(40))...), enginetest.MakePod("web"))
		if len(changes) == 0 || changes[0].UncordonedNode == nil || *changes[0].UncordonedNode != 40 {
			t.Error(changes)
		}
	})
	t.Run("combined", func(t *testing.T) {
		var nodes []*enginetest.Node
		for i := range 20 {
			nodes = append(nodes, cordoned(i).Allocate("cpu", 8000, "pods", 0))
		}
		tainted := enginetest.MakeNode("tainted").Taint("dedicated", "db", api.NoSchedule).Allocate("cpu", 900, "pods", 10)
		changes := remedies(t, enginetest.Cluster(append(nodes, tainted)...), enginetest.MakePod("db").Request("cpu", 1000))
		if len(changes) == 0 || len(changes[0].Combined) != 2 || changes[0].Combined[0].Tolerations == nil {
			t.Error(changes)
		}
	})
}

// TestRemediesOfHugeValues has values and keys of a size whose comparison would take hours.
func TestRemediesOfHugeValues(t *testing.T) {
	huge := func(end string) string { return strings.Repeat("x", 300_000) + end }
	pod := enginetest.MakePod("web")
	values := []string{"eu-west-1"}
	for i := range 500 {
		values = append(values, huge(fmt.Sprint("-", i)))
	}
	pod.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{
		{MatchExpressions: []api.Requirement{{Key: "region", Operator: api.In, Values: values}}},
		{MatchExpressions: []api.Requirement{{Key: huge("-label"), Operator: api.In, Values: []string{"a"}}}},
	}}}
	changes := remedies(t, enginetest.Cluster(
		enginetest.MakeNode("a").Label("region", huge("-a")).Label(huge("-key"), "v"),
		enginetest.MakeNode("b").Label("region", "eu-west-2"),
	), pod)
	if len(changes) == 0 || changes[0].NodeRequirement == nil || changes[0].NodeRequirement.To.Values[0] != "eu-west-2" {
		t.Error(len(changes), " changes, the first is not the similar value")
	}
}

// TestUnparsableTermsAreNotPreferred has a term that kube-scheduler cannot parse: as a preference it fails the scoring of several nodes.
func TestUnparsableTermsAreNotPreferred(t *testing.T) {
	pod := enginetest.MakePod("web")
	pod.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{
		{MatchExpressions: []api.Requirement{{Key: "generation", Operator: api.LessThan, Values: []string{"9223372036854775808"}}}},
	}}}
	changes := remedies(t, enginetest.Cluster(enginetest.MakeNode("a"), enginetest.MakeNode("b")), pod)
	for _, c := range changes {
		if c.PreferredRule != nil {
			t.Errorf("offered is %+v", *c.PreferredRule)
		}
	}
	if len(changes) == 0 {
		t.Error("no change is offered, though the pod has a node without the term")
	}
}

// TestRemediesOfIndexedPods asks for a pod of an indexed Job whose other pods fill the node: they are no victims.
func TestRemediesOfIndexedPods(t *testing.T) {
	of := func(job, index string) *enginetest.Pod {
		p := enginetest.MakePod(job+"-"+index).Label("batch.kubernetes.io/job-name", job).
			Label("batch.kubernetes.io/job-completion-index", index).Request("cpu", 1000)
		p.Template.Controller.Kind = api.OtherController
		return p
	}
	for job, victims := range map[string]bool{"train": false, "other": true} {
		node := enginetest.MakeNode("n").Allocate("cpu", 1000, "pods", 10).Run(of("train", "0"))
		found := false
		stated := enginetest.Cluster(node)
		stated.Templates, stated.Nodes[0].Pods[0].TemplateIndex = []*api.PodTemplate{stated.Nodes[0].Pods[0].Template}, 0
		for _, c := range remedies(t, stated, of(job, "1")) {
			found = found || c.RemovedPods != nil
		}
		if found != victims {
			t.Errorf("a pod of %s: victims %t, want %t", job, found, victims)
		}
	}
}
