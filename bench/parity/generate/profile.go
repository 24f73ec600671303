package generate

import (
	"fmt"
	"maps"
	"slices"
)

// feature is something that a cluster, a pod or a queue may have.
type feature int

const (
	podAffinity feature = iota
	spread
	taints
	nodeAffinity
	resources
	ports
	images
	narrowing
	defaultSpread
	resize
	longQueue
	strategies
	oddity
	extremes
	fractional
	extended
	podStatus
	disabling
	nomination
	preemption
	queueing
	queuedGroups
	grouping
	simulation
	remedying
	sparing
	features
	storing
	devicing
	featureCount
)

// likelihood is how often there is each feature, by profile. A profile is named after what it is about; the rest
// occurs now and then, since verdicts depend on the order of plugins.
var likelihood = map[string][featureCount]float64{
	"affinity":     weigh(0.04, map[feature]float64{podAffinity: 0.8}),
	"spread":       weigh(0.04, map[feature]float64{spread: 0.8, taints: 0.3, nodeAffinity: 0.35}),
	"taints":       weigh(0.03, map[feature]float64{taints: 0.9}),
	"nodeaffinity": weigh(0.03, map[feature]float64{nodeAffinity: 0.9}),
	"resources":    weigh(0.03, map[feature]float64{resources: 0.95, resize: 0.3}),
	"strategies":   weigh(0.02, map[feature]float64{strategies: 0.95, resources: 0.5}),
	"ports":        weigh(0.03, map[feature]float64{ports: 0.8}),
	"images":       weigh(0.03, map[feature]float64{images: 0.9}),
	"prefilter":    weigh(0.03, map[feature]float64{narrowing: 0.7, nodeAffinity: 0.2}),
	"features":     weigh(0.03, map[feature]float64{features: 0.8, taints: 0.2, nodeAffinity: 0.2, resources: 0.2, disabling: 0.05}),
	"defaults":     weigh(0.03, map[feature]float64{defaultSpread: 0.9}),
	"place": weigh(0.05, map[feature]float64{
		longQueue: 0.9, podAffinity: 0.3, spread: 0.4, taints: 0.2, nodeAffinity: 0.1, resources: 0.2, narrowing: 0.01, images: 0.3, defaultSpread: 0.2,
	}),
	"odd": weigh(0.04, map[feature]float64{
		oddity: 0.25, podAffinity: 0.4, spread: 0.35, nodeAffinity: 0.35, longQueue: 0.02, narrowing: 0.1,
	}),
	"fractions": weigh(0.02, map[feature]float64{
		resources: 0.8, fractional: 0.3, resize: 0.4, podStatus: 0.7, strategies: 0.1,
	}),
	"extreme": weigh(0.02, map[feature]float64{
		resources: 0.7, extremes: 0.3, fractional: 0.2, extended: 0.15, resize: 0.3, podStatus: 0.6, strategies: 0.3,
	}),
	"disabled": weigh(0.2, map[feature]float64{
		disabling: 0.9, sparing: 0.2, podAffinity: 0.4, longQueue: 0.1, spread: 0.4, taints: 0.4, nodeAffinity: 0.4, resources: 0.7, narrowing: 0.1, ports: 0.3,
		oddity: 0.02,
	}),
	"nominated": weigh(0.03, map[feature]float64{
		sparing: 0.1, nomination: 0.97, podAffinity: 0.4, spread: 0.4, resources: 0.2, ports: 0.2, narrowing: 0.12, taints: 0.06, nodeAffinity: 0.06,
		longQueue: 0.1, oddity: 0.02, defaultSpread: 0.1,
	}),
	"preemption": weigh(0.02, map[feature]float64{
		sparing: 0.1, preemption: 0.98, nomination: 0.2, podAffinity: 0.2, spread: 0.2, resources: 0.2, ports: 0.2, narrowing: 0.03, taints: 0.05,
		nodeAffinity: 0.04, longQueue: 0.04, oddity: 0.01, defaultSpread: 0.05,
	}),
	"queue": weigh(0.03, map[feature]float64{
		sparing: 0.1, queueing: 1, podAffinity: 0.2, spread: 0.2, resources: 0.1, ports: 0.15, narrowing: 0.02, taints: 0.05, extremes: 0, oddity: 0.01,
		defaultSpread: 0.05,
	}),
	"queuegroups": weigh(0.03, map[feature]float64{
		sparing: 0.1, queueing: 1, queuedGroups: 1, podAffinity: 0.15, spread: 0.15, resources: 0.1, ports: 0.1, narrowing: 0.02, taints: 0.05,
		extremes: 0, oddity: 0.01, defaultSpread: 0.05,
	}),
	"groups": weigh(0.03, map[feature]float64{
		sparing: 0.1, grouping: 1, nomination: 0.1, podAffinity: 0.2, spread: 0.2, resources: 0.2, taints: 0.1, nodeAffinity: 0.1, ports: 0.1,
		narrowing: 0.02, oddity: 0.01, defaultSpread: 0.05, extremes: 0,
	}),
	"whatif": weigh(0.04, map[feature]float64{
		simulation: 1, podAffinity: 0.2, spread: 0.2, resources: 0.2, ports: 0.1, images: 0.2, taints: 0.1, nodeAffinity: 0.1,
		narrowing: 0.02, defaultSpread: 0.1, resize: 0.1, oddity: 0, extremes: 0,
	}),
	"remedies": weigh(0.1, map[feature]float64{
		remedying: 1, podAffinity: 0.35, spread: 0.35, taints: 0.4, nodeAffinity: 0.4, resources: 0.5, ports: 0.2, narrowing: 0.02,
		images: 0, oddity: 0, extremes: 0,
	}),
	"volumes": weigh(0.03, map[feature]float64{
		storing: 0.85, longQueue: 0.15, podAffinity: 0.05, spread: 0.08, resources: 0.1, narrowing: 0.04, oddity: 0, extremes: 0,
	}),
	"devices": weigh(0.03, map[feature]float64{
		devicing: 0.85, longQueue: 0.15, podAffinity: 0.05, spread: 0.08, resources: 0.1, narrowing: 0.04, oddity: 0, extremes: 0,
	}),
	"mixed": weigh(0.25, map[feature]float64{
		podAffinity: 0.35, longQueue: 0.02, spread: 0.3, taints: 0.4, nodeAffinity: 0.3, resources: 0.6, narrowing: 0.04, resize: 0.1,
	}),
}

// rare are features that few clusters have, and that make what has them hard to decide otherwise.
var rare = map[feature]float64{oddity: 0.01, extremes: 0.003, fractional: 0.01, extended: 0.002, podStatus: 0.4, disabling: 0, nomination: 0, preemption: 0, queueing: 0, queuedGroups: 0, grouping: 0, simulation: 0, remedying: 0, sparing: 0, storing: 0, devicing: 0}

func weigh(base float64, own map[feature]float64) [featureCount]float64 {
	var w [featureCount]float64
	for f := range w {
		w[f] = base
	}
	for f, p := range rare {
		w[f] = p
	}
	for f, p := range own {
		w[f] = p
	}
	return w
}

// Profiles returns the names of the profiles.
func Profiles() []string { return slices.Sorted(maps.Keys(likelihood)) }

// CheckProfile returns an error unless there is a profile of that name.
func CheckProfile(name string) error {
	if _, ok := likelihood[name]; !ok {
		return fmt.Errorf("profile %q is none of %v", name, Profiles())
	}
	return nil
}
