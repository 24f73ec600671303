package engine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// changesText formats changes without the differences between counted, named and assumed pods.
func changesText(changes []verdict.Change) string {
	text := ""
	for _, c := range changes {
		switch {
		case c.AddedNode != nil:
			text += fmt.Sprint(*c.AddedNode)
		case c.RemovedPods != nil:
			pods := 0
			for _, p := range c.RemovedPods {
				pods += p.Count
			}
			text += fmt.Sprint(pods, " gone from ", c.RemovedPods[0].Node)
		case c.RaisedMaxSkew != nil:
			text += fmt.Sprint(*c.RaisedMaxSkew)
		case c.PreferredRule != nil:
			text += fmt.Sprint(*c.PreferredRule)
		case c.LoweredRequest != nil:
			text += fmt.Sprint(*c.LoweredRequest)
		default:
			own, _ := json.Marshal(c) // of strings and numbers, which cannot fail
			text += string(own)
		}
		text += fmt.Sprintln(" ", c.Nodes)
	}
	return text
}

// TestChangesHoweverStated compares clusters with counted, named and assumed pods.
func TestChangesHoweverStated(t *testing.T) {
	compared, placed := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 12))
		stated, pods := enginetest.Random(rng)
		ask := func(c *api.Cluster, pod *api.Pod) string {
			f, err := compiled(t, c).Filter(t.Context(), pod, engine.FilterOptions{Profile: api.Kube137(), Changes: true})
			if err != nil {
				t.Fatal(err)
			}
			return changesText(f.Changes)
		}
		counted := *stated
		counted.Nodes = slices.Clone(stated.Nodes)
		for i := range counted.Nodes {
			n := &counted.Nodes[i]
			for _, p := range n.Pods {
				n.PodCounts = append(n.PodCounts, api.PodCount{Template: len(counted.Templates), Count: 1, Terminating: p.Terminating})
				counted.Templates = append(counted.Templates, p.Template)
			}
			n.Pods = nil
		}
		for i := range pods {
			if want, got := ask(stated, &pods[i]), ask(&counted, &pods[i]); want != got {
				t.Fatalf("seed %d, pod %d: with counted pods\n%s, with named ones\n%s", seed, i, got, want)
			} else if want != "" {
				compared++
			}
		}
		var queue []engine.Pending
		for _, p := range pods {
			queue = append(queue, engine.Pending{Pod: p, Count: 4})
		}
		answer, err := compiled(t, stated).Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Changes: true})
		if err != nil {
			t.Fatal(err)
		}
		so := *stated
		so.Nodes = slices.Clone(stated.Nodes)
		for i, p := range answer.Placements {
			for _, n := range p.Nodes {
				so.Nodes[n].Pods = append(slices.Clone(so.Nodes[n].Pods), pods[i])
				forgetNominated(&so, &pods[i])
			}
			if p.Unplaced == 0 {
				continue
			}
			if want, got := ask(&so, &pods[i]), changesText(p.Changes); want != got {
				t.Fatalf("seed %d, entry %d: placing says\n%s, with the pods on their nodes\n%s", seed, i, got, want)
			} else if want != "" {
				placed++
			}
			endNomination(t, &so, api.Kube137(), &pods[i])
		}
	}
	if compared < 100 || placed < 100 {
		t.Errorf("%d answers with changes, %d of Place: the cases no longer exercise them", compared, placed)
	}
}
