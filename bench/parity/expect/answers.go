package expect

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Of returns kube-scheduler's answers to a case. The scheduler must be fresh and is used up.
func Of(c *scenario.Case, s *oracle.Scheduler) (*conformance.Answers, error) {
	candidates := candidatesOf(c)
	out := &conformance.Answers{}
	for _, pod := range s.Queue {
		d, err := s.Decide(pod)
		if err != nil {
			return nil, err
		}
		checks, err := s.Checks(pod)
		if err != nil {
			return nil, err
		}
		filter, err := filterAnswer(d, checks, candidates)
		if err != nil {
			return nil, err
		}
		score, err := scoreAnswer(d)
		if err != nil {
			return nil, err
		}
		preemption, err := s.Preempt(pod)
		if err != nil {
			return nil, err
		}
		preempt, err := preemptAnswer(preemption, filter)
		if err != nil {
			return nil, err
		}
		out.Filter = append(out.Filter, filter)
		out.Preempt = append(out.Preempt, preempt)
		out.Score = append(out.Score, score)
	}
	placements, err := s.Place(c.Queue, func(best []uint32) uint32 { return first(c, best) })
	if err != nil {
		return nil, err
	}
	if out.Place, err = placeAnswer(c, placements, candidates); err != nil {
		return nil, err
	}
	out.PlacePreempting, err = preemptingPlace(out.Place, placements)
	return out, err
}

func candidatesOf(c *scenario.Case) []uint32 {
	var out []uint32
	for i, n := range c.Nodes {
		if c.Candidates == nil || slices.Contains(c.Candidates, n.Name) {
			out = append(out, uint32(i))
		}
	}
	return out
}

func filterAnswer(d *oracle.Decision, checks []oracle.Check, candidates []uint32) (*stowagev1.FilterResponse, error) {
	rejected, err := rejections(d, candidates)
	if err != nil {
		return nil, err
	}
	checked, err := failing(checks)
	if err != nil {
		return nil, err
	}
	message, failed := messageOf(d), d.Failed()
	if d.Overflows() {
		message, failed = "", false // Filter requests no score
	}
	return &stowagev1.FilterResponse{
		FeasibleNodes: &stowagev1.NodeList{Indexes: d.Feasible},
		Rejections:    rejected,
		Message:       message,
		InternalError: failed,
		Explanation:   &stowagev1.Explanation{FailingChecks: checked},
	}, nil
}

// messageOf is the text for a pod that found no node. One that is held back never gets an event; the text is then what
// the plugin says.
func messageOf(d *oracle.Decision) string {
	if d.Gate != nil {
		return d.Gate.Reasons[0]
	}
	return d.Message
}

func scoreAnswer(d *oracle.Decision) (*stowagev1.ScoreResponse, error) {
	out := &stowagev1.ScoreResponse{
		Nodes:         &stowagev1.NodeList{Indexes: d.Feasible},
		TotalScores:   d.Totals,
		BestNodes:     &stowagev1.NodeList{Indexes: d.Best},
		Message:       messageOf(d),
		InternalError: d.Failed(),
	}
	for _, s := range d.Scores {
		if _, known := Plugins[s.Plugin]; !known && !slices.ContainsFunc(s.Scores, func(score int64) bool { return score != 0 }) {
			// VolumeBinding scores pods without volumes too, with nothing.
			continue
		}
		p, err := plugin(s.Plugin)
		if err != nil {
			return nil, err
		}
		out.PluginScores = append(out.PluginScores, &stowagev1.PluginScores{Plugin: p, Weight: int32(s.Weight), WeightedScores: s.Scores})
	}
	slices.SortStableFunc(out.PluginScores, func(a, b *stowagev1.PluginScores) int {
		return slices.Index(order, a.Plugin) - slices.Index(order, b.Plugin)
	})
	return out, nil
}

func placeAnswer(c *scenario.Case, placements []oracle.Placement, candidates []uint32) (*stowagev1.PlaceResponse, error) {
	out := &stowagev1.PlaceResponse{}
	for i, p := range placements {
		placed := uint32(len(p.Nodes))
		entry := &stowagev1.Placement{
			Nodes:         &stowagev1.NodeList{Indexes: p.Nodes},
			UnplacedCount: uint32(c.Queue[i].Count) - placed,
		}
		if d := p.Unplaced; d != nil {
			var err error
			entry.Message, entry.InternalError = messageOf(d), d.Failed()
			if entry.Rejections, err = unplaced(d, candidates); err != nil {
				return nil, err
			}
			checked, err := failing(p.Checks)
			if err != nil {
				return nil, err
			}
			entry.Explanation = &stowagev1.Explanation{FailingChecks: checked}
		}
		out.ClaimBindings = append(out.ClaimBindings, claimBindings(p.Bindings)...)
		out.ClaimDevices = append(out.ClaimDevices, claimDevices(p.Granted)...)
		out.PlacedCount += placed
		out.UnplacedCount += entry.UnplacedCount
		out.Placements = append(out.Placements, entry)
	}
	return out, nil
}

func claimBindings(bound []oracle.Binding) (out []*stowagev1.ClaimBinding) {
	for _, b := range bound {
		out = append(out, &stowagev1.ClaimBinding{
			Namespace: b.Namespace, Name: b.Claim, VolumeName: b.Volume, NodeIndex: b.Node, QueueIndex: uint32(b.Entry),
		})
	}
	return out
}

// claimDevices converts devices that claims got. IDs of shares are random.
func claimDevices(granted []oracle.Granted) (out []*stowagev1.ClaimDevices) {
	for _, g := range granted {
		of := &stowagev1.ClaimDevices{
			Namespace: g.Namespace, Name: g.Claim, PodClaim: g.PodClaim, NodeIndex: g.Node, QueueIndex: uint32(g.Entry),
		}
		for _, r := range g.Results {
			device := &stowagev1.DeviceAllocation{
				Request: r.Request, Driver: r.Driver, Pool: r.Pool, Device: r.Device, AdminAccess: r.AdminAccess != nil && *r.AdminAccess,
				Shared: r.ShareID != nil,
			}
			for _, name := range slices.Sorted(maps.Keys(r.ConsumedCapacity)) {
				consumed := r.ConsumedCapacity[name]
				device.ConsumedCapacity = append(device.ConsumedCapacity,
					&stowagev1.DeviceCapacityRequest{Name: string(name), Value: consumed.MilliValue()})
			}
			of.Devices = append(of.Devices, device)
		}
		out = append(out, of)
	}
	return out
}
