package e2e

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

// group is what labels say of a pod group.
type group struct {
	name  string
	min   int
	joint bool
}

// groupOf is the group of a step, false if labels cannot say what its PodGroup does: topology, and more than a mode.
func groupOf(step *scenarios.Step, all []*unstructured.Unstructured) (g group, ok bool) {
	if step.Joint {
		g = group{name: "queue", joint: true}
		for _, u := range all {
			if !placedAlready(u) {
				g.min += podsOf(u.Object, u.GetKind())
			}
		}
		return g, true
	}
	for _, u := range all {
		if u.GetKind() != "PodGroup" {
			continue
		}
		_, constrained, _ := unstructured.NestedMap(u.Object, "spec", "schedulingConstraints")
		mode := u.GetAnnotations()["stowage.scheduling/mode"]
		if constrained || len(u.GetAnnotations()) > 1 || len(u.GetAnnotations()) == 1 && mode != "joint" {
			return group{}, false
		}
		minCount, _, _ := unstructured.NestedInt64(u.Object, "spec", "schedulingPolicy", "gang", "minCount")
		return group{u.GetName(), int(minCount), mode == "joint"}, true
	}
	return group{}, false
}

func placedAlready(u *unstructured.Unstructured) bool {
	node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
	return node != ""
}

// label says by labels what the pods of an object say by the group they are in, or all of them if it is the queue.
func (g group) label(u *unstructured.Unstructured) error {
	var template []string
	switch u.GetKind() {
	case "Pod":
		if placedAlready(u) {
			return nil
		}
	case "Deployment", "StatefulSet", "ReplicaSet", "Job":
		template = []string{"spec", "template"}
	default:
		return nil
	}
	at := func(path ...string) []string { return slices.Concat(template, path) }
	in, _, _ := unstructured.NestedString(u.Object, at("spec", "schedulingGroup", "podGroupName")...)
	unstructured.RemoveNestedField(u.Object, at("spec", "schedulingGroup")...)
	if g.name != "queue" && in != g.name {
		return nil
	}
	for key, value := range map[string]string{batch.GroupNameLabel: g.name, batch.MinAvailableLabel: strconv.Itoa(g.min)} {
		if err := unstructured.SetNestedField(u.Object, value, at("metadata", "labels", key)...); err != nil {
			return err
		}
	}
	return nil
}

// TestGroupScenarios runs the steps of the examples that have pod groups or joint placement with the batch scheduler, as far
// as its labels can express their groups.
func TestGroupScenarios(t *testing.T) {
	c := start(t)
	startServer(t, c)
	must(t, c.StartBatch(t.Context(), "--allocate-devices"))
	const jointly = "stowage-joint"
	_, _, err := c.NewBatch(t.Context(), jointly, "--pod-group-mode=joint", "--scheduler-name="+jointly, "--no-leader-elect", "--allocate-devices")
	must(t, err)
	cases, err := scenarios.Load(filepath.Join(repository, "clients", "examples"))
	must(t, err)
	ran := 0
	for i := range cases {
		for j := range cases[i].Steps {
			k, step := &cases[i], &cases[i].Steps[j]
			var all []*unstructured.Unstructured
			for _, file := range step.Files {
				all = append(all, read(t, k, file)...)
			}
			g, ok := groupOf(step, all)
			if len(step.Groups) == 0 || step.Profile != nil || step.Queue || !ok {
				continue
			}
			ran++
			name := k.Name() + ": " + step.Name
			t.Run(name, func(t *testing.T) {
				scheduler := stack.BatchPods
				if g.joint {
					scheduler = jointly
				}
				deleteAll(t, c)
				for _, u := range all {
					if u.GetKind() == "PodGroup" {
						continue
					}
					must(t, g.label(u))
					createAndSettle(t, c, []*unstructured.Unstructured{u}, scheduler)
				}
				want := expected(name, step)
				eventually(t, patience, func() error {
					got, err := outcomes(t.Context(), c, scheduler, k.TopologyKey)
					if err != nil {
						return err
					}
					return want(got)
				})
			})
		}
	}
	if ran < 9 {
		t.Errorf("only %d steps", ran)
	}
}
