package decode_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func nominee(name string) *stowagev1.Pod {
	return &stowagev1.Pod{Name: name, Source: &stowagev1.Pod_TemplateIndex{}}
}

// Decisions depend on a pod's name only where pods are nominated, and always on the node that it is nominated to.
func TestKeysOfNominatedPods(t *testing.T) {
	key := func(c *decode.Snapshot, pod *stowagev1.Pod) string {
		raw, err := proto.Marshal(&stowagev1.FilterRequest{Pod: pod})
		if err != nil {
			t.Fatal(err)
		}
		in := new(stowagev1.FilterRequest)
		asked, err := decode.ReadRequestPods(raw, in)
		if err != nil {
			t.Fatal(err)
		}
		r := decode.On(t.Context(), c)
		r.Ask(asked)
		k := decode.FilterKey(in, asked)
		if call := r.Filter(in); r.Err() != nil || k == "" || call.Options.Key == "" {
			t.Fatalf("the keys are %q and %q, %v", k, call.Options.Key, r.Err())
		}
		return k
	}
	node := &stowagev1.Node{Name: "a", Pods: []*stowagev1.Pod{nominee("p")}}
	plain := mustWhole(t, &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{}}, Nodes: []*stowagev1.Node{node}})
	nominates, err := follow(t, plain, &stowagev1.ClusterDelta{
		NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", NominatedPods: []*stowagev1.Pod{nominee("n")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	no, err := follow(t, nominates, &stowagev1.ClusterDelta{
		NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", RemovedNominatedPods: []*stowagev1.NamespacedName{{Name: "n"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what      string
		c         *decode.Snapshot
		nominates bool
	}{{"none", plain, false}, {"one", nominates, true}, {"none any more", no, false}} {
		if got := test.c.Nominates(); got != test.nominates {
			t.Errorf("%s: Nominates() = %t", test.what, got)
		}
		if same := key(test.c, nominee("n")) == key(test.c, nominee("o")); same == test.nominates {
			t.Errorf("%s: pods with other names have the same key: %t", test.what, same)
		}
		of := nominee("n")
		of.NominatedNodeName = "a"
		if key(test.c, of) == key(test.c, nominee("n")) {
			t.Errorf("%s: a pod that is nominated has the key of one that is not", test.what)
		}
	}
}

// Nominated pods count towards the limit of pods, with and without deltas.
func TestNominatedPodsAreBoundedByDelta(t *testing.T) {
	full := &stowagev1.Node{
		Name: "full", PodCounts: []*stowagev1.PodCount{{Count: decode.MaxClusterPods - 2}}, NominatedPods: []*stowagev1.Pod{nominee("n")},
	}
	nodes := []*stowagev1.Node{full, {Name: "b", NominatedPods: []*stowagev1.Pod{nominee("m")}}, {Name: "c"}}
	c := mustWhole(t, &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{}}, Nodes: nodes})
	nominate := func(node, name string) *stowagev1.ClusterDelta {
		return &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{NodeName: node, NominatedPods: []*stowagev1.Pod{nominee(name)}}}}
	}
	refused := func(what string, c *decode.Snapshot) {
		t.Helper()
		if _, err := follow(t, c, nominate("c", "more")); err == nil {
			t.Errorf("%s: a pod too many was accepted", what)
		}
	}
	refused("at first", c)
	dismiss := func(node, name string) *stowagev1.NodePodsDelta {
		return &stowagev1.NodePodsDelta{NodeName: node, RemovedNominatedPods: []*stowagev1.NamespacedName{{Name: name}}}
	}
	for what, d := range map[string]*stowagev1.ClusterDelta{
		"a pod of the node":  {NodePods: []*stowagev1.NodePodsDelta{dismiss("full", "n")}},
		"a pod of another":   {NodePods: []*stowagev1.NodePodsDelta{dismiss("b", "m")}},
		"a node":             {RemovedNodes: []string{"b"}},
		"a node for another": {RemovedNodes: []string{"b"}, Nodes: []*stowagev1.Node{{Name: "d"}}},
		"a node's pods":      {Nodes: []*stowagev1.Node{{Name: "b"}}},
	} {
		less, err := follow(t, c, d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := follow(t, less, nominate("c", "one"))
		if err != nil {
			t.Errorf("%s less: %v", what, err)
			continue
		}
		refused(what+" less and one more", again)
	}
}

func TestMalformedDeltasOfNominatedPods(t *testing.T) {
	base := mustWhole(t, &stowagev1.Cluster{
		PodTemplates: []*stowagev1.PodTemplate{{}, {Spec: &stowagev1.PodSpec{NodeName: "a"}}},
		Nodes:        []*stowagev1.Node{{Name: "a", NominatedPods: []*stowagev1.Pod{nominee("n")}}, {Name: "b"}},
	})
	placed := nominee("p")
	placed.NominatedNodeName = "a"
	for _, test := range []struct {
		d    *stowagev1.NodePodsDelta
		want string
	}{
		{
			&stowagev1.NodePodsDelta{NominatedPods: []*stowagev1.Pod{nominee("o"), nominee("")}},
			"nominated_pods[1].name: is required in nominated_pods",
		},
		{
			&stowagev1.NodePodsDelta{NominatedPods: []*stowagev1.Pod{nominee("n")}},
			"nominated_pods[0].name: duplicates another pod nominated to the node",
		},
		{
			&stowagev1.NodePodsDelta{NominatedPods: []*stowagev1.Pod{placed}},
			"nominated_pods[0].nominated_node_name: must be empty in pods of nodes",
		},
		{
			&stowagev1.NodePodsDelta{NominatedPods: []*stowagev1.Pod{{Name: "o", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}}}},
			"nominated_pods[0].template_index: refers to a template with a node_name, which pods of nodes must not have",
		},
		{&stowagev1.NodePodsDelta{RemovedNominatedPods: []*stowagev1.NamespacedName{{}}}, "removed_nominated_pods[0].name: is required"},
		{
			&stowagev1.NodePodsDelta{RemovedNominatedPods: []*stowagev1.NamespacedName{{Name: "n"}, {Name: "n"}}},
			"removed_nominated_pods[1]: pod not nominated to the node",
		},
	} {
		test.d.NodeName = "a"
		_, err := follow(t, base, &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{NodeName: "b"}, test.d}})
		var e *decode.Error
		if !errors.As(err, &e) || err.Error() != "delta.node_pods[1]."+test.want {
			t.Errorf("%v, want delta.node_pods[1].%s", err, test.want)
		}
	}
	// A replaced template changes the namespace of a pod.
	c := mustWhole(t, &stowagev1.Cluster{
		PodTemplates: []*stowagev1.PodTemplate{{}, {Namespace: "other"}},
		Nodes: []*stowagev1.Node{{
			Name: "a", NominatedPods: []*stowagev1.Pod{nominee("n"), {Name: "n", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}}},
		}},
	})
	if _, err := follow(t, c, &stowagev1.ClusterDelta{
		PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1, Template: &stowagev1.PodTemplate{}}},
		NodePods:     []*stowagev1.NodePodsDelta{{NodeName: "a"}},
	}); err == nil {
		t.Error("a pod was nominated twice")
	}
}

// Claims of devices and of volumes have the name of their pod, or the pod names them.
func TestKeysOfPodsWithClaims(t *testing.T) {
	key := func(change func(*stowagev1.Pod)) string {
		pod := &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
			ResourceClaims: []*stowagev1.PodResourceClaim{{Name: "c"}},
		}}}}
		change(pod)
		raw, err := proto.Marshal(&stowagev1.FilterRequest{Pod: pod})
		if err != nil {
			t.Fatal(err)
		}
		in := new(stowagev1.FilterRequest)
		asked, err := decode.ReadRequestPods(raw, in)
		if err != nil {
			t.Fatal(err)
		}
		r := decode.On(t.Context(), mustWhole(t, &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}}))
		r.Ask(asked)
		return decode.FilterKey(in, asked)
	}
	plain := func(p *stowagev1.Pod) { p.GetTemplate().Spec.ResourceClaims = nil }
	status := func(name string) func(*stowagev1.Pod) {
		return func(p *stowagev1.Pod) {
			p.ResourceClaimStatuses = []*stowagev1.PodResourceClaimStatus{{Name: "c", ResourceClaimName: name}}
		}
	}
	named := func(change func(*stowagev1.Pod)) func(*stowagev1.Pod) {
		return func(p *stowagev1.Pod) { p.Name = "q"; change(p) }
	}
	none := func(*stowagev1.Pod) {}
	if key(plain) == "" || key(plain) != key(named(plain)) {
		t.Error("pods without claims have keys by name")
	}
	if key(none) == key(named(none)) || key(status("x")) == key(status("y")) || key(none) == key(status("x")) {
		t.Error("pods with other claims have one key")
	}
}
