package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/fit"
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
	// TopologyKey asks for Fit.Domains of a topology key; empty for none. FitDomains must not exceed MaxFitDomains.
	TopologyKey string
	// Changes asks for Fit.Changes.
	Changes bool
}

// Fit counts how many more units of a mix fit. A unit is the pods of each entry, at most MaxFitPods in all. They are placed one
// by one as Place does, until one has no feasible node; the last unit is one that is placed in full.
func (c *Cluster) Fit(ctx context.Context, mix []Pending, o FitOptions) (*verdict.Fit, error) {
	out, err := fit.Count(ctx, &fit.Problem{
		Cluster: c.compiled, Framework: c.framework(o.Profile), Candidates: c.candidates(o.Candidates), Mix: mix,
		Units: o.Units, Seed: o.Seed, FewestPods: o.FewestPods, Key: o.TopologyKey, Changes: o.Changes,
	})
	if err != nil {
		return nil, err
	}
	out.Doubts = doubt.OfQueue(o.Profile, mix, nil)
	return out, nil
}

// FitDomains returns the number of domains that Fit would count in.
func (c *Cluster) FitDomains(ctx context.Context, o FitOptions) int {
	if o.TopologyKey == "" {
		return 0
	}
	return fit.Domains(ctx, c.compiled, c.candidates(o.Candidates), o.TopologyKey)
}
