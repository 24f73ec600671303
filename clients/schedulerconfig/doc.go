// Package schedulerconfig turns a profile of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) into a Profile of the
// contract, as kube-scheduler v1.37 reads it, or refuses it with the paths of the fields that Stowage cannot honour.
//
// Defaults and the merge of plugin sets follow pkg/scheduler/apis/config/v1 (default_plugins.go, defaults.go) and
// pkg/scheduler/framework/runtime (expandMultiPointPlugins, getValidScoreWeights). In short: a plugin runs at an extension point if
// the point enables it. It also runs if it is enabled by multiPoint or by default, and neither the point nor, for a default plugin,
// multiPoint disables it or `*`. A plugin enabled without a weight has weight 1, even if its default is higher.
//
// # Honoured
//
//   - plugins of the contract, enabled and disabled by multiPoint, preEnqueue, preFilter, filter, preScore and score;
//     DynamicResources and DefaultPreemption, by multiPoint, postFilter and podGroupPostFilter
//   - pluginConfig: NodeResourcesFit, NodeResourcesBalancedAllocation, NodeAffinity, InterPodAffinity, PodTopologySpread,
//     VolumeBinding
//   - schedulerName, which selects the profile
//
// # Ignored
//
//   - percentageOfNodesToScore: Stowage evaluates every node, as kube-scheduler does with 100
//   - settings of the process and the queue: parallelism, leader election, clients, back-off, profiling
//   - other extension points, and plugins that Stowage does not evaluate (GangScheduling): responses list the fields of a pod that such plugins read
//   - arguments of such plugins, and of DefaultPreemption: Stowage evaluates every node that evictions may make feasible
//
// # Refused
//
//   - enabled plugins that kube-scheduler v1.37 does not have
//   - an order of preFilter, filter or postFilter plugins other than the default, because the order affects the reasons of rejections
//   - filter without preFilter and score without preScore, which cause an internal error of kube-scheduler
//   - extenders, unless the caller is the extender (Options.Extender)
//   - a shape of VolumeBinding other than the default
//   - fields and plugin arguments that are unknown or invalid
package schedulerconfig
