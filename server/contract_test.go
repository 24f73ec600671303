package server

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/version"
)

// TestCountZero has a queue with an entry of no pods, one without a count and one of two pods; and scales down to zero.
func TestCountZero(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	for name, groups := range map[string][]*stowagev1.PodGroup{
		"no group": nil,
		"in order": {{Name: "g", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER}},
		"joint":    {{Name: "g", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}},
	} {
		group := ""
		if groups != nil {
			group = "g"
		}
		request := &stowagev1.PlaceRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}},
			Queue: []*stowagev1.PendingPods{
				{Pod: apart(), Count: new(uint32(0)), PodGroup: group}, {Pod: apart()}, {Pod: apart(), Count: new(uint32(1))},
			},
			PodGroups: groups, Explain: true, IncludeChanges: true,
		}
		got, err := client.Place(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{0, 1, 1} {
			p := got.Placements[i]
			if n := len(p.Nodes.GetIndexes()); n != want || p.UnplacedCount != 0 || p.Message != "" {
				t.Errorf("%s: entry %d has %d pods placed, want %d: %v", name, i, n, want, p)
			}
		}
		if got.PlacedCount != 2 || got.UnplacedCount != 0 {
			t.Errorf("%s: %d placed and %d not, want 2 and 0", name, got.PlacedCount, got.UnplacedCount)
		}
		for _, g := range got.PodGroups {
			if g.Status != stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE || g.PlacedCount+g.UnplacedCount > 0 {
				t.Errorf("%s: a group of no pods: %v", name, g)
			}
		}
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: request})
		if err != nil || all[len(all)-1].TotalCount != 2 || all[len(all)-1].PlacedCount != 2 {
			t.Errorf("%s, in parts: %v, %v", name, all, err)
		}
	}
	running := threeZones()
	running.Nodes[0].Pods = []*stowagev1.Pod{apart()}
	none := replicasOf(running, new(uint32(0)))
	if got, err := client.ScaleDown(t.Context(), none); err != nil || len(got.Remaining) > 0 || len(got.Deletions) == 0 {
		t.Errorf("to 0 replicas: %v, %v", got, err)
	}
	_, err := client.ScaleDown(t.Context(), replicasOf(threeZones(), nil))
	if code, _, _, bad := why(err); code != codes.InvalidArgument || len(bad) != 1 || bad[0].Field != "replicas" {
		t.Errorf("without a number of replicas: %v", err)
	}
}

// replicasOf asks to scale the pods of the cluster's first template down.
func replicasOf(c *stowagev1.Cluster, replicas *uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context:  &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}},
		Pod:      apart(),
		Selector: &stowagev1.LabelSelector{},
		Replicas: replicas,
	}
}

// TestDisabledPlugins disables InterPodAffinity for filter, for score and for both.
func TestDisabledPlugins(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	cluster := threeZones()
	cluster.Nodes[0].Pods = []*stowagev1.Pod{apart()}
	const plugin = stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY
	pod := apart()
	pod.GetTemplate().Spec.Affinity.PodAffinity = &stowagev1.PodAffinity{
		Preferred: []*stowagev1.WeightedPodAffinityTerm{{Weight: 1, Term: &stowagev1.PodAffinityTerm{
			LabelSelector: &stowagev1.LabelSelector{}, TopologyKey: zone,
		}}},
	}
	noFilter := []stowagev1.Plugin{plugin}
	noScore := []*stowagev1.PluginWeight{{Plugin: plugin, Weight: new(int32(0))}}
	for name, test := range map[string]struct {
		profile  *stowagev1.Profile
		feasible int
		scored   bool
	}{
		"enabled": {nil, 2, true},
		"filter":  {&stowagev1.Profile{DisabledFilters: noFilter}, 3, true},
		"score":   {&stowagev1.Profile{PluginWeights: noScore}, 2, false},
		"both":    {&stowagev1.Profile{DisabledFilters: noFilter, PluginWeights: noScore}, 3, false},
	} {
		on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: test.profile}
		filter, err := client.Filter(t.Context(), &stowagev1.FilterRequest{Context: on, Pod: pod, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(filter.FeasibleNodes.Indexes); n != test.feasible || len(filter.Explanation.FailingChecks) != 3-n {
			t.Errorf("%s: %d nodes are feasible, want %d: %v", name, n, test.feasible, filter.Explanation.FailingChecks)
		}
		score, err := client.Score(t.Context(), &stowagev1.ScoreRequest{Context: on, Pod: pod, IncludePluginScores: true})
		if err != nil {
			t.Fatal(err)
		}
		scored := slices.ContainsFunc(score.PluginScores, func(p *stowagev1.PluginScores) bool { return p.Plugin == plugin })
		if scored != test.scored {
			t.Errorf("%s: scores of %v", name, score.PluginScores)
		}
		queue := []*stowagev1.PendingPods{{Pod: pod, Count: new(uint32(4))}}
		placed, err := client.Place(t.Context(), &stowagev1.PlaceRequest{Context: on, Queue: queue})
		want := uint32(test.feasible)
		if test.feasible == 3 {
			want = 4 // the pods do not keep apart any more
		}
		if err != nil || placed.PlacedCount != want {
			t.Errorf("%s: %d pods are placed, want %d: %v", name, placed.GetPlacedCount(), want, err)
		}
	}
}

// TestGetServerInfo compares the answer of GetServerInfo with the server's configuration and with its behaviour.
func TestGetServerInfo(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes, c.MaxRequestDuration, c.RateLimitPerSecond, c.RateLimitBurst = 12345678, time.Minute, 1e6, 1000
	client := run(t, c, t.Output(), nil, nil).client()
	info, err := client.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Release != version.Current() {
		t.Errorf("release %q", info.Release)
	}
	l := info.Limits
	if l.GetMaxReceiveMessageBytes() != uint64(c.MaxReceiveMessageBytes) || l.GetMaxSnapshotBytes() != 12345678 ||
		l.GetMaxInFlightBytes() != uint64(c.MaxInFlightBytes) || l.GetMaxRequestDuration().AsDuration() != time.Minute ||
		l.GetMaxRequestsPerSecond() != 1e6 {
		t.Errorf("limits %v", l)
	}
	if len(info.Profiles) == 0 {
		t.Fatal("no profile")
	}
	parity, err := os.ReadFile("../bench/parity/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if of := info.Profiles[0].ComparedRelease; !strings.Contains(string(parity), "\tk8s.io/kubernetes "+of+"\n") {
		t.Errorf("compared with %q, which is not the release of bench/parity", of)
	}
	// Requests may disable and weigh the plugins that the profile lists, and no others.
	var filters []stowagev1.Plugin
	var weights []*stowagev1.PluginWeight
	known := map[stowagev1.Plugin]*stowagev1.PluginInfo{}
	for _, p := range info.Profiles[0].Plugins {
		known[p.Plugin] = p
		if p.Filters {
			filters = append(filters, p.Plugin)
		}
		if p.DefaultWeight != nil {
			weights = append(weights, &stowagev1.PluginWeight{Plugin: p.Plugin, Weight: p.DefaultWeight})
		}
	}
	ask := func(p *stowagev1.Profile) error {
		p.Name = info.Profiles[0].Name
		on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}, Profile: p}
		_, err := client.Filter(t.Context(), &stowagev1.FilterRequest{Context: on, Pod: apart()})
		return err
	}
	if err := ask(&stowagev1.Profile{DisabledFilters: filters, PluginWeights: weights}); err != nil {
		t.Error(err)
	}
	for n := range stowagev1.Plugin_name {
		p := stowagev1.Plugin(n)
		if info := known[p]; info.GetFilters() != (ask(&stowagev1.Profile{DisabledFilters: []stowagev1.Plugin{p}}) == nil) {
			t.Errorf("%v filters: %v", p, info.GetFilters())
		} else if scores := info != nil && info.DefaultWeight != nil; scores !=
			(ask(&stowagev1.Profile{PluginWeights: []*stowagev1.PluginWeight{{Plugin: p, Weight: new(int32(1))}}}) == nil) {
			t.Errorf("%v scores: %v", p, scores)
		}
	}
	for n, name := range stowagev1.Feature_name {
		if f := stowagev1.Feature(n); n != 0 && !slices.Contains(info.Features, f) {
			t.Errorf("%s is not told", name)
		}
	}
}
