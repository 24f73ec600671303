package api

// Profile is the configuration of kube-scheduler's plugins.
type Profile struct {
	Weights Weights
	// DisabledFilters are the plugins, by their numbers in verdict.Plugin, that do not filter.
	DisabledFilters PluginSet
	// DisabledPostFilters and DisabledGroupPostFilters are the plugins that do not run for pods, and for pod groups, without nodes.
	DisabledPostFilters                PostFilters
	DisabledGroupPostFilters           PostFilters
	AddedAffinity                      *NodeAffinity
	Scoring                            ScoringStrategy
	BalancedResources                  []string
	IgnoredResources                   []string
	IgnoredResourceGroups              []string
	HardPodAffinityWeight              int32
	IgnorePreferredTermsOfExistingPods bool
	// SystemDefaultSpread selects kube-scheduler's own default spread constraints instead of DefaultSpread.
	SystemDefaultSpread bool
	DefaultSpread       []TopologySpreadConstraint
	// TolerationComparisonOperators is the feature gate TaintTolerationComparisonOperators.
	TolerationComparisonOperators bool
	// SchedulerName is the PodSpec.SchedulerName of the pods that the profile places, DefaultScheduler if empty. AnyScheduler stands
	// for all names.
	SchedulerName string
}

// The special names of schedulers.
const (
	DefaultScheduler = "default-scheduler"
	AnyScheduler     = "*"
)

// Weights are the weights of the scoring plugins. A weight of 0 disables scoring by the plugin.
type Weights struct {
	TaintToleration    int64
	NodeAffinity       int64
	NodeResourcesFit   int64
	PodTopologySpread  int64
	InterPodAffinity   int64
	BalancedAllocation int64
	ImageLocality      int64
	VolumeBinding      int64
	DynamicResources   int64
}

// PostFilters is a set of the plugins that run after Filter found no node.
type PostFilters struct{ DynamicResources, DefaultPreemption bool }

// PluginSet is a set of plugins, by number.
type PluginSet uint64

// Add adds a plugin.
func (s *PluginSet) Add(plugin uint8) { *s |= 1 << plugin }

// Has reports whether the set has a plugin.
func (s PluginSet) Has(plugin uint8) bool { return s>>plugin&1 == 1 }

// ScoringStrategyType is how NodeResourcesFit scores.
type ScoringStrategyType uint8

// The strategies.
const (
	LeastAllocated ScoringStrategyType = iota
	MostAllocated
	RequestedToCapacityRatio
)

// ScoringStrategy is how NodeResourcesFit scores.
type ScoringStrategy struct {
	Type      ScoringStrategyType
	Resources []ResourceWeight // not empty
	Shape     []ShapePoint     // not empty with RequestedToCapacityRatio; utilization strictly ascending
}

// ResourceWeight is a resource's weight.
type ResourceWeight struct {
	Resource string
	Weight   int64 // 1..100
}

// ShapePoint is a point of a function of utilization.
type ShapePoint struct {
	Utilization int64 // percent, 0..100
	Score       int64 // 0..10
}

// Kube137 returns the default profile of kube-scheduler v1.37 (pkg/scheduler/apis/config/v1/defaults.go and
// default_plugins.go).
func Kube137() *Profile {
	return &Profile{
		Weights: Weights{
			TaintToleration:    3,
			NodeAffinity:       2,
			NodeResourcesFit:   1,
			PodTopologySpread:  2,
			InterPodAffinity:   2,
			BalancedAllocation: 1,
			ImageLocality:      1,
			VolumeBinding:      1,
			DynamicResources:   2,
		},
		Scoring: ScoringStrategy{
			Resources: []ResourceWeight{{ResourceCPU, 1}, {ResourceMemory, 1}},
		},
		BalancedResources:     []string{ResourceCPU, ResourceMemory},
		HardPodAffinityWeight: 1,
		SystemDefaultSpread:   true,
	}
}
