package decode

import (
	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// FitCall is a FitRequest in the engine's values.
type FitCall struct {
	Mix     []engine.Pending
	Options engine.FitOptions
}

// Fit decodes a FitRequest except for its cluster.
func (r *Request) Fit(in *stowagev1.FitRequest) FitCall {
	return FitCall{
		Mix: r.mix(in.GetMix()),
		Options: engine.FitOptions{
			Profile:     r.profile(in.GetContext().GetProfile()),
			Candidates:  r.candidates(in.GetCandidateNodes()),
			Seed:        in.GetTieBreakSeed(),
			FewestPods:  r.fewestPods(in.GetTieBreak()),
			Units:       r.maxUnits(in),
			TopologyKey: r.fitKey(in.GetTopologyKey()),
			Changes:     in.GetIncludeChanges(),
			Explain:     in.GetExplain(),
		},
	}
}

// mix decodes the pods of a unit.
func (d *decoder) mix(in []*stowagev1.FitPod) []engine.Pending {
	var root *path
	if !d.require(len(in) > 0, root.field("mix")) || !d.within(root, "mix", len(in), MaxMix) {
		return nil
	}
	out := make([]engine.Pending, 0, len(in))
	pods := uint64(0)
	for i, p := range in {
		at := root.item("mix", i)
		count := p.PodCount()
		d.between(at.field("count"), int64(count), 1, engine.MaxFitPods)
		pods += uint64(count)
		if d.require(p.GetPod() != nil, at.field("pod")) {
			pod := submessage(d, at.field("pod"), p.GetPod(), podAs(pending))
			out = append(out, engine.Pending{Pod: pod.pod, Count: int(count)})
		}
	}
	if pods > engine.MaxFitPods {
		d.refuse(root.field("mix"), wrongCount, "has %d pods in all, at most %d are allowed", pods, engine.MaxFitPods)
	}
	return out
}

// maxUnits returns the number of units to stop at.
func (d *decoder) maxUnits(in *stowagev1.FitRequest) int {
	if in.MaxUnits == nil {
		return MaxFitUnits
	}
	d.between(path{name: "max_units"}, int64(in.GetMaxUnits()), 1, MaxFitUnits)
	return int(in.GetMaxUnits())
}

// fitKey returns the topology key of the domains.
func (d *decoder) fitKey(key string) string {
	at := path{name: "topology_key"}
	if d.length(at, key, MaxLabelKeyBytes); key != "" {
		d.countName(at, topologyKey, key)
	}
	return key
}

// FitDomains refuses a request for too many domains.
func FitDomains(domains int) error {
	if domains <= engine.MaxFitDomains {
		return nil
	}
	return Refuse("topology_key", wrongCount, "has %d domains with candidates, at most %d are allowed",
		domains, engine.MaxFitDomains)
}
