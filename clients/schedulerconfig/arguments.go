package schedulerconfig

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	kubejson "sigs.k8s.io/json"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// arguments reads the arguments of the plugins that Stowage evaluates. They are validated as by
// pkg/scheduler/apis/config/validation/validation_pluginargs.go.
func (r *reader) arguments(configs []configv1.PluginConfig, path *field.Path) {
	seen := map[string]bool{}
	for i, c := range configs {
		at := path.Index(i)
		if seen[c.Name] {
			r.errs = append(r.errs, field.Duplicate(at.Child("name"), c.Name))
			continue
		}
		seen[c.Name] = true
		at = at.Child("args")
		switch c.Name {
		case "NodeResourcesFit":
			args := &configv1.NodeResourcesFitArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.fit(args, at)
			}
		case "NodeResourcesBalancedAllocation":
			args := &configv1.NodeResourcesBalancedAllocationArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.balanced(args, at)
			}
		case "NodeAffinity":
			args := &configv1.NodeAffinityArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.nodeAffinity(args, at)
			}
		case "InterPodAffinity":
			args := &configv1.InterPodAffinityArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.interPodAffinity(args, at)
			}
		case "PodTopologySpread":
			args := &configv1.PodTopologySpreadArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.spread(args, at)
			}
		case "DynamicResources":
			args := &configv1.DynamicResourcesArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.dynamicResources(args, at)
			}
		case "VolumeBinding":
			args := &configv1.VolumeBindingArgs{}
			if r.decode(c, args, &args.TypeMeta, at) {
				r.volumeBinding(args, at)
			}
		}
	}
}

// decode decodes the arguments of a plugin. Their kind, if present, must be the plugin's.
func (r *reader) decode(c configv1.PluginConfig, into any, meta *metav1.TypeMeta, path *field.Path) bool {
	if len(c.Args.Raw) == 0 {
		return true
	}
	strict, err := kubejson.UnmarshalStrict(c.Args.Raw, into)
	if err != nil {
		strict = append(strict, err)
	}
	for _, e := range strict {
		r.refuse(path, "%v", e)
	}
	if want := c.Name + "Args"; meta.Kind != "" && meta.Kind != want {
		r.errs = append(r.errs, field.Invalid(path.Child("kind"), meta.Kind, "must be "+want))
	}
	if want := configv1.SchemeGroupVersion.String(); meta.APIVersion != "" && meta.APIVersion != want {
		r.errs = append(r.errs, field.Invalid(path.Child("apiVersion"), meta.APIVersion, "must be "+want))
	}
	return len(strict) == 0
}

var strategies = map[configv1.ScoringStrategyType]stowagev1.ScoringStrategyType{
	configv1.LeastAllocated:           stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_LEAST_ALLOCATED,
	configv1.MostAllocated:            stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_MOST_ALLOCATED,
	configv1.RequestedToCapacityRatio: stowagev1.ScoringStrategyType_SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO,
}

func (r *reader) fit(args *configv1.NodeResourcesFitArgs, path *field.Path) {
	for i, name := range args.IgnoredResources {
		r.errs = append(r.errs, metav1validation.ValidateLabelName(name, path.Child("ignoredResources").Index(i))...)
	}
	for i, group := range args.IgnoredResourceGroups {
		at := path.Child("ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			r.errs = append(r.errs, field.Invalid(at, group, "must not contain a slash"))
			continue
		}
		r.errs = append(r.errs, metav1validation.ValidateLabelName(group, at)...)
	}
	r.profile.IgnoredResources, r.profile.IgnoredResourceGroups = args.IgnoredResources, args.IgnoredResourceGroups
	s, path := args.ScoringStrategy, path.Child("scoringStrategy")
	if s == nil {
		return
	}
	strategy, ok := strategies[s.Type]
	if !ok {
		supported := []configv1.ScoringStrategyType{configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio}
		r.errs = append(r.errs, field.NotSupported(path.Child("type"), s.Type, supported))
	}
	r.profile.ScoringStrategy = &stowagev1.ScoringStrategy{Type: strategy, Resources: r.resources(s.Resources, path.Child("resources"))}
	at := path.Child("requestedToCapacityRatio")
	switch {
	case s.Type != configv1.RequestedToCapacityRatio && s.RequestedToCapacityRatio != nil:
		r.errs = append(r.errs, field.Forbidden(at, "needs type RequestedToCapacityRatio"))
	case s.Type == configv1.RequestedToCapacityRatio && (s.RequestedToCapacityRatio == nil || len(s.RequestedToCapacityRatio.Shape) == 0):
		r.errs = append(r.errs, field.Required(at.Child("shape"), "at least one point"))
	case s.Type == configv1.RequestedToCapacityRatio:
		r.shape(s.RequestedToCapacityRatio.Shape, at.Child("shape"))
	}
}

func (r *reader) shape(points []configv1.UtilizationShapePoint, path *field.Path) {
	for i, p := range points {
		at := path.Index(i)
		switch {
		case p.Utilization < 0 || p.Utilization > 100:
			r.errs = append(r.errs, field.Invalid(at.Child("utilization"), p.Utilization, "must be in [0, 100]"))
		case i > 0 && points[i-1].Utilization >= p.Utilization:
			r.errs = append(r.errs, field.Invalid(at.Child("utilization"), p.Utilization, "must be greater than the previous point's"))
		case p.Score < 0 || p.Score > 10:
			r.errs = append(r.errs, field.Invalid(at.Child("score"), p.Score, "must be in [0, 10]"))
		}
		r.profile.ScoringStrategy.Shape = append(r.profile.ScoringStrategy.Shape,
			&stowagev1.UtilizationShapePoint{Utilization: p.Utilization, Score: p.Score})
	}
}

// resources reads resources with weights in [1, 100]; a weight of 0 is 1.
func (r *reader) resources(all []configv1.ResourceSpec, path *field.Path) []*stowagev1.ResourceWeight {
	var out []*stowagev1.ResourceWeight
	for i, resource := range all {
		if resource.Weight == 0 {
			resource.Weight = 1
		}
		if resource.Weight < 1 || resource.Weight > 100 {
			r.errs = append(r.errs, field.Invalid(path.Index(i).Child("weight"), resource.Weight, "must be in [1, 100]"))
		}
		out = append(out, &stowagev1.ResourceWeight{Name: resource.Name, Weight: resource.Weight})
	}
	return out
}

func (r *reader) balanced(args *configv1.NodeResourcesBalancedAllocationArgs, path *field.Path) {
	path = path.Child("resources")
	for i, resource := range args.Resources {
		if resource.Weight != 0 && resource.Weight != 1 {
			r.errs = append(r.errs, field.Invalid(path.Index(i).Child("weight"), resource.Weight, "must be 1"))
		}
		if slices.Contains(r.profile.BalancedAllocationResources, resource.Name) {
			r.errs = append(r.errs, field.Duplicate(path.Index(i).Child("name"), resource.Name))
		}
		r.profile.BalancedAllocationResources = append(r.profile.BalancedAllocationResources, resource.Name)
	}
}

func (r *reader) nodeAffinity(args *configv1.NodeAffinityArgs, path *field.Path) {
	var errs field.ErrorList
	r.profile.AddedAffinity, errs = convert.NodeAffinity(args.AddedAffinity, path.Child("addedAffinity"))
	r.errs = append(r.errs, errs...)
}

func (r *reader) interPodAffinity(args *configv1.InterPodAffinityArgs, path *field.Path) {
	if w := args.HardPodAffinityWeight; w != nil {
		if *w < 0 || *w > 100 {
			r.errs = append(r.errs, field.Invalid(path.Child("hardPodAffinityWeight"), *w, "must be in [0, 100]"))
		}
		r.profile.HardPodAffinityWeight = w
	}
	r.profile.IgnorePreferredTermsOfExistingPods = args.IgnorePreferredTermsOfExistingPods
}

// defaultShape scores volumes and capacities that are used least (pkg/scheduler/apis/config/v1/defaults.go SetDefaults_VolumeBindingArgs).
var defaultShape = []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}

// volumeBinding reads the arguments of VolumeBinding. No decision depends on the timeout of bindings.
func (r *reader) volumeBinding(args *configv1.VolumeBindingArgs, path *field.Path) {
	if t := args.BindTimeoutSeconds; t != nil && *t < 0 {
		r.errs = append(r.errs, field.Invalid(path.Child("bindTimeoutSeconds"), *t, "must not be negative"))
	}
	if args.Shape != nil && !slices.Equal(args.Shape, defaultShape) {
		r.refuse(path.Child("shape"), "only the default shape is supported")
	}
}

// dynamicResources reads the arguments of DynamicResources. Searches here end by their steps, and not by a time.
func (r *reader) dynamicResources(args *configv1.DynamicResourcesArgs, path *field.Path) {
	if t := args.FilterTimeout; t != nil && t.Duration < 0 {
		r.errs = append(r.errs, field.Invalid(path.Child("filterTimeout"), t.Duration.String(), "must be zero or positive"))
	}
	switch t := args.BindingTimeout; {
	case t == nil:
	case t.Duration < time.Second:
		r.errs = append(r.errs, field.Invalid(path.Child("bindingTimeout"), t.Duration.String(), "must be at least 1 second"))
	default:
		r.bindingTimeout = t.Duration
	}
}

func (r *reader) spread(args *configv1.PodTopologySpreadArgs, path *field.Path) {
	at := path.Child("defaultConstraints")
	switch args.DefaultingType {
	case configv1.SystemDefaulting, "":
		if len(args.DefaultConstraints) > 0 {
			r.errs = append(r.errs, field.Invalid(path.Child("defaultingType"), args.DefaultingType, "must be List with defaultConstraints"))
		}
		return
	case configv1.ListDefaulting:
	default:
		r.errs = append(r.errs, field.NotSupported(path.Child("defaultingType"), args.DefaultingType,
			[]configv1.PodTopologySpreadConstraintsDefaulting{configv1.SystemDefaulting, configv1.ListDefaulting}))
		return
	}
	type constraint struct{ key, when string }
	seen := map[constraint]bool{}
	for i, c := range args.DefaultConstraints {
		p := at.Index(i)
		if c.MaxSkew < 1 {
			r.errs = append(r.errs, field.Invalid(p.Child("maxSkew"), c.MaxSkew, "must be positive"))
		}
		if c.TopologyKey == "" {
			r.errs = append(r.errs, field.Required(p.Child("topologyKey"), ""))
		} else {
			r.errs = append(r.errs, metav1validation.ValidateLabelName(c.TopologyKey, p.Child("topologyKey"))...)
		}
		if c.LabelSelector != nil {
			r.errs = append(r.errs, field.Forbidden(p.Child("labelSelector"), "kube-scheduler uses the selector of the pod's workload"))
		}
		this := constraint{c.TopologyKey, string(c.WhenUnsatisfiable)}
		if seen[this] {
			r.errs = append(r.errs, field.Duplicate(p, fmt.Sprintf("{%s, %s}", this.key, this.when)))
		}
		seen[this] = true
	}
	constraints, errs := convert.SpreadConstraints(args.DefaultConstraints, at)
	r.errs = append(r.errs, errs...)
	r.profile.DefaultSpread = &stowagev1.DefaultSpread{Type: stowagev1.DefaultingType_DEFAULTING_TYPE_LIST, Constraints: constraints}
}
