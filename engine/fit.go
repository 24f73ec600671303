package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/fit"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// The limits of Fit.
const (
	// MaxFitPods bounds the pods of a unit, and the pods that Fit places in one count.
	MaxFitPods = fit.MaxPods
	// MaxFitDomains bounds the domains of FitOptions.TopologyKey.
	MaxFitDomains = fit.MaxDomains
)

// FitOptions are the arguments of Fit in addition to the mix.
type FitOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed and FewestPods are as in PlaceOptions.
	Seed       uint64
	FewestPods bool
	// Units is the number of units to stop at.
	Units int
	// TopologyKey requests Fit.Domains of a topology key; empty for none. FitDomains must not exceed MaxFitDomains.
	TopologyKey string
	// Changes requests Fit.Changes, Explain requests Fit.Explanation.
	Changes, Explain bool
}

// Fit counts how many more units of a mix fit. A unit is the pods of each entry, at most MaxFitPods in all. They are placed one
// by one as Place does, until one has no feasible node; the last unit is one that is placed in full.
func (c *Cluster) Fit(ctx context.Context, mix []Pending, o FitOptions) (*verdict.Fit, error) {
	group, decided := c.confine(ctx, mix, c.candidates(o.Candidates))
	out, undecided, err := fit.Count(ctx, &fit.Problem{
		Cluster: c.compiled, Framework: c.framework(o.Profile), Candidates: group.Candidates, Mix: mix,
		Units: o.Units, Seed: o.Seed, FewestPods: o.FewestPods, Key: o.TopologyKey, Changes: o.Changes, Explain: o.Explain,
	})
	if err != nil {
		return nil, err
	}
	out.Doubts = doubt.OfQueue(o.Profile, mix, decided, c.undecided(undecided))
	return out, nil
}

// confine returns what the pod group of a mix means for it, and the groups that it decides: none if pods of the mix are in several groups
// or in none, or if kube-scheduler fails the group.
func (c *Cluster) confine(ctx context.Context, mix []Pending, candidates nodeset.Set) (gang.Confinement, []PodGroup) {
	plain := gang.Confinement{Candidates: candidates}
	var all PodGroup
	for i := range mix {
		all.Entries = append(all.Entries, i)
		if t := mix[i].Pod.Template; cluster.PodGroupOf(t) == "" || cluster.PodGroupOf(t) != cluster.PodGroupOf(mix[0].Pod.Template) {
			return plain, nil
		}
	}
	group, decided := gang.Confine(cluster.NewState(ctx, c.compiled), &mix[0].Pod, candidates)
	switch {
	case group.Failure != "":
		return plain, nil
	case !decided:
		return group, nil
	}
	return group, []PodGroup{all}
}

// FitDomains returns the number of domains that Fit would count in.
func (c *Cluster) FitDomains(ctx context.Context, o FitOptions) int {
	if o.TopologyKey == "" {
		return 0
	}
	return fit.Domains(ctx, c.compiled, c.candidates(o.Candidates), o.TopologyKey)
}
