package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDomainsAsKubeScheduler compares the domain that a pod group goes to, and where in it its pods go, with what
// kube-scheduler's plugins say of every domain: its pod group cycle (pkg/scheduler/schedule_one_podgroup.go, v1.37) places
// the pods in each, one by one, and takes the domain with the highest score.
func TestDomainsAsKubeScheduler(t *testing.T) {
	for _, profile := range generate.Profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			groups := 0
			for seed := range uint64(5) {
				c := generate.Case(profile, 1000+seed)
				c.TieBreakSeed = 0
				c.Queue = c.Queue[:min(3, len(c.Queue))]
				for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
					ok, err := compareDomains(t, c, key)
					if err != nil {
						t.Fatalf("%s: %v", c.Name, err)
					}
					if ok {
						groups++
					}
				}
			}
			if groups == 0 {
				t.Error("no group has a domain")
			}
		})
	}
}

// compareDomains reports whether there is a domain that takes one pod of the group.
func compareDomains(t *testing.T, c *scenario.Case, key string) (bool, error) {
	fresh, err := oracle.New(c)
	if err != nil {
		return false, err
	}
	defer fresh.Close()
	domains, values := make(map[string][]uint32), []string(nil)
	for i, n := range c.Nodes {
		v, ok := n.Labels[key]
		if !ok || c.Candidates != nil && !slices.Contains(c.Candidates, n.Name) {
			continue
		}
		if domains[v] == nil {
			values = append(values, v)
		}
		domains[v] = append(domains[v], uint32(i))
	}
	failed := false // then the group goes nowhere, whatever other domains would take
	placements, placed, most := make(map[string][]oracle.Placement), make(map[string][]*corev1.Pod), 0
	for _, v := range values {
		in := *c
		in.Candidates = []string{}
		for _, n := range domains[v] {
			in.Candidates = append(in.Candidates, c.Nodes[n].Name)
		}
		s, err := oracle.New(&in)
		if err != nil {
			return false, err
		}
		placements[v], err = s.Place(in.Queue, slices.Min[[]uint32])
		s.Close()
		if err != nil {
			return false, err
		}
		for i, p := range placements[v] {
			failed = failed || p.Unplaced.Failed()
			placed[v] = append(placed[v], slices.Repeat([]*corev1.Pod{fresh.Queue[i]}, len(p.Nodes))...)
		}
		most = max(most, len(placed[v]))
	}
	best, score := "", int64(-1)
	for _, v := range values {
		if len(placed[v]) == 0 {
			continue
		}
		full, err := fresh.PlacementScore(domains[v], placed[v])
		if err != nil {
			return false, err
		}
		// PodGroupPodsCount (pkg/scheduler/framework/plugins/podgrouppodscount, v1.37), whose weight is 1.
		if s := int64(len(placed[v])*100/most) + full; s > score {
			best, score = v, s
		}
	}
	request, err := compare.PlaceRequest(c, fresh, compare.Form{Stored: true})
	if err != nil {
		return false, err
	}
	for _, q := range request.Queue {
		q.PodGroup = "group"
	}
	request.PodGroups = []*stowagev1.PodGroup{{
		Name: "group", MinCount: new(uint32(1)), Topology: &stowagev1.PodGroupTopology{Keys: []string{key}},
	}}
	answer, err := inProcess.Place(t.Context(), request)
	if err != nil {
		return false, err
	}
	got := answer.PodGroups[0]
	if failed {
		if got.PlacedCount > 0 || !got.InternalError || !strings.HasPrefix(got.Message, "failed to schedule other pod from a pod group: ") {
			t.Errorf("%s, %s: placed in %v, %q; kube-scheduler fails", c.Name, key, got.Domains, got.Message)
		}
		return false, nil
	}
	if score < 0 {
		if got.PlacedCount > 0 {
			t.Errorf("%s, %s: placed in %v, kube-scheduler finds no domain", c.Name, key, got.Domains)
		}
		return false, nil
	}
	if len(got.Domains) != 1 || got.Domains[0].Value != best {
		t.Errorf("%s, %s: goes to %v, kube-scheduler's highest score is %s's", c.Name, key, got.Domains, best)
		return true, nil
	}
	for i, p := range answer.Placements {
		if !slices.Equal(p.Nodes.GetIndexes(), placements[best][i].Nodes) {
			t.Errorf("%s, %s, entry %d: goes to %v, kube-scheduler's to %v", c.Name, key, i, p.Nodes.GetIndexes(), fmt.Sprint(placements[best][i].Nodes))
		}
	}
	return true, nil
}
