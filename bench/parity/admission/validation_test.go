package admission_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	schedulingvalidation "k8s.io/kubernetes/pkg/apis/scheduling/validation"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube/validate"
)

// TestValidationEqualsTheAPIServers compares which fields of workloads and pods are refused. The objects differ from valid ones only in
// fields that decisions read.
func TestValidationEqualsTheAPIServers(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(5 * cases) {
		o := drawObject(dice{rand.New(rand.NewPCG(seed, 41))})
		want, got := paths(upstream(t, o)), paths(validate.Object(o))
		if d := gocmp.Diff(want, got); d != "" {
			text, _ := yaml.Marshal(o)
			t.Fatalf("seed %d: (-the API server +here)\n%s\n%s", seed, d, text)
		}
		counts[fmt.Sprintf("%T", o)]++
		counts[map[bool]string{true: "accepted", false: "refused"}[len(want) == 0]]++
		for _, path := range want {
			counts[path]++
		}
	}
	t.Logf("%d accepted, %d refused, by %d paths", counts["accepted"], counts["refused"], len(counts)-2)
	if min(counts["accepted"], counts["refused"]) < cases {
		t.Error("too few of either kind")
	}
}

// paths returns the fields of errors, each once. The API server reports that an init container has a port of the node twice at the first
// init container, whichever has it (validateInitContainers passes the path of the list).
func paths(errs field.ErrorList) []string {
	out := []string{}
	for _, e := range errs {
		at := strings.Replace(e.Field, "metadata.taints", "spec.taints", 1) // ValidateNode passes the path of the metadata
		if e.Type == field.ErrorTypeDuplicate {
			at = initContainer.ReplaceAllString(at, "initContainers[0]")
		}
		out = append(out, at)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var initContainer = regexp.MustCompile(`initContainers\[\d+\]`)

// upstream returns what the API server's code refuses of an object.
func upstream(t *testing.T, o metav1.Object) field.ErrorList {
	defaulted := o.(runtime.Object).DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(defaulted, runtime.InternalGroupVersioner)
	must(t, err)
	of := func(template *core.PodTemplateSpec) corevalidation.PodValidationOptions {
		o := podutil.GetValidationOptionsFromPodTemplate(template, nil)
		o.AllowTaintTolerationComparisonOperators = true // a cluster may have the gate, and here the operators are decided
		return o
	}
	spec := field.NewPath("spec")
	switch i := internal.(type) {
	case *core.Pod:
		return corevalidation.ValidatePodCreate(i, of(&core.PodTemplateSpec{ObjectMeta: i.ObjectMeta, Spec: i.Spec}))
	case *core.ReplicationController:
		return corevalidation.ValidateReplicationController(i, of(i.Spec.Template))
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(i, of(&i.Spec.Template))
	case *apps.ReplicaSet:
		return appsvalidation.ValidateReplicaSet(i, of(&i.Spec.Template))
	case *apps.StatefulSet:
		return appsvalidation.ValidateStatefulSet(i, appsvalidation.StatefulSetValidationOptions{}, of(&i.Spec.Template))
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(i, of(&i.Spec.Template))
	case *batch.Job: // its selector is generated before
		return jobErrors(&i.Spec, spec, of(&i.Spec.Template))
	case *batch.CronJob:
		return jobErrors(&i.Spec.JobTemplate.Spec, spec.Child("jobTemplate", "spec"), of(&i.Spec.JobTemplate.Spec.Template))
	case *core.Node:
		return corevalidation.ValidateNode(i)
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudgetSpec(i.Spec, policyvalidation.PodDisruptionBudgetValidationOptions{}, spec)
	case *scheduling.PriorityClass:
		return schedulingvalidation.ValidatePriorityClass(i)
	}
	t.Fatalf("%T", internal)
	return nil
}

func jobErrors(s *batch.JobSpec, path *field.Path, o corevalidation.PodValidationOptions) field.ErrorList {
	s.Selector = metav1.SetAsLabelSelector(s.Template.Labels)
	errs := batchvalidation.ValidateJobSpec(s, nil, path, o)
	return slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Field == path.Child("selector").String()+".matchLabels" })
}

var (
	// names of labels; those at the end are none.
	labelNames  = []string{"a", "b", "example.com/c", "topology.kubernetes.io/zone", "-a", "a/b/c"}
	labelValues = []string{"x", "y", "", "7", "-x", "x y"}
	operators   = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Is"}
)

// mostly returns one of the first valid values, and rarely another one.
func mostly[T any](d dice, valid int, from []T) T {
	if d.often(3) {
		return from[d.IntN(len(from))]
	}
	return from[d.IntN(valid)]
}

func drawObject(d dice) metav1.Object {
	labels := map[string]string{mostly(d, 4, labelNames): mostly(d, 4, labelValues)}
	matching := d.selector(labels)
	meta := metav1.ObjectMeta{Name: "o", Namespace: "ns"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: d.podSpec()}
	replicas := mostly(d, 3, []*int32{nil, new(int32(0)), new(int32(3)), new(int32(-1))})
	restart := func(policies ...corev1.RestartPolicy) { template.Spec.RestartPolicy = mostly(d, 2, policies) }
	never := func() batchv1.JobSpec {
		restart("Never", "OnFailure", "Always", "", "No")
		j := batchv1.JobSpec{Parallelism: replicas, Completions: mostly(d, 2, []*int32{nil, new(int32(2)), new(int32(-2))}), Template: template}
		if d.often(10) {
			j.CompletionMode = mostly(d, 2, []*batchv1.CompletionMode{new(batchv1.NonIndexedCompletion), new(batchv1.IndexedCompletion), new(batchv1.CompletionMode("Is"))})
		}
		return j
	}
	restart("Always", "", "Never", "OnFailure", "No")
	switch d.IntN(11) {
	case 0:
		o := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: replicas, Selector: matching, Template: template}}
		o.Spec.Strategy.Type = appsv1.DeploymentStrategyType(mostly(d, 2, []string{"", "RollingUpdate", "Recreate", "Blue"}))
		if d.often(10) {
			o.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: d.share(), MaxUnavailable: d.share()}
		}
		return o
	case 1:
		return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: replicas, Selector: matching, Template: template}}
	case 2:
		o := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: replicas, Selector: matching, Template: template}}
		d.ordered(&o.Spec)
		return o
	case 3:
		o := &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: matching, Template: template}}
		o.Spec.UpdateStrategy.Type = appsv1.DaemonSetUpdateStrategyType(mostly(d, 2, []string{"", "RollingUpdate", "OnDelete", "Blue"}))
		if d.often(10) {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: d.share(), MaxUnavailable: d.share()}
		}
		return o
	case 4:
		spec := corev1.ReplicationControllerSpec{Replicas: replicas, Template: &template}
		if d.often(30) {
			spec.Selector = map[string]string{pick(d, labelNames...): pick(d, labelValues...)}
		}
		meta.Labels = map[string]string{"a": "x"} // otherwise the labels of the template
		return &corev1.ReplicationController{ObjectMeta: meta, Spec: spec}
	case 5:
		return &batchv1.Job{ObjectMeta: meta, Spec: never()}
	case 6:
		return &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: never()}}}
	}
	meta.Labels = labels
	switch d.IntN(4) {
	case 0:
		return d.node(meta)
	case 1:
		return d.budget(meta)
	case 2:
		meta.Namespace, meta.Labels = "", nil
		return &schedulingv1.PriorityClass{ObjectMeta: meta, Value: mostly(d, 2, []int32{1, 1_000_000_000, 1_000_000_001}),
			PreemptionPolicy: mostly(d, 3, []*corev1.PreemptionPolicy{nil, new(corev1.PreemptNever), new(corev1.PreemptLowerPriority), new(corev1.PreemptionPolicy("Is"))})}
	}
	return &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}
}

// ordered draws how a StatefulSet creates and replaces its pods.
func (d dice) ordered(s *appsv1.StatefulSetSpec) {
	s.PodManagementPolicy = appsv1.PodManagementPolicyType(mostly(d, 3, []string{"", "OrderedReady", "Parallel", "Is"}))
	s.UpdateStrategy.Type = appsv1.StatefulSetUpdateStrategyType(mostly(d, 3, []string{"", "RollingUpdate", "OnDelete", "Blue"}))
	if d.often(10) {
		s.Ordinals = &appsv1.StatefulSetOrdinals{Start: mostly(d, 1, []int32{3, -1})}
	}
	if d.often(10) {
		s.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: d.claimSpec()}}
	}
	if d.often(20) {
		s.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{
			Partition: mostly(d, 2, []*int32{nil, new(int32(1)), new(int32(-1))}), MaxUnavailable: d.share(),
		}
	}
}

func (d dice) node(meta metav1.ObjectMeta) *corev1.Node {
	meta.Namespace = ""
	n := &corev1.Node{ObjectMeta: meta, Status: corev1.NodeStatus{Capacity: d.amounts(), Allocatable: d.amounts()}}
	if d.often(30) {
		n.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: mostly(d, 1, []resource.Quantity{resource.MustParse("110"), resource.MustParse("1.5")})}
	}
	for range d.IntN(3) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: mostly(d, 2, append(labelNames[:4:4], "", "-a")), Value: mostly(d, 3, []string{"", "x", "7", "-x"}),
			Effect: corev1.TaintEffect(mostly(d, 3, []string{"NoExecute", "NoSchedule", "PreferNoSchedule", "", "No"}))})
	}
	return n
}

func (d dice) budget(meta metav1.ObjectMeta) *policyv1.PodDisruptionBudget {
	meta.Labels = nil
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{Selector: d.labelSelector()}}
	if d.often(50) {
		b.Spec.MinAvailable = d.share()
	}
	if b.Spec.MinAvailable == nil || d.often(5) {
		b.Spec.MaxUnavailable = d.share()
	}
	b.Spec.UnhealthyPodEvictionPolicy = mostly(d, 3, []*policyv1.UnhealthyPodEvictionPolicyType{nil, new(policyv1.AlwaysAllow), new(policyv1.IfHealthyBudget), new(policyv1.UnhealthyPodEvictionPolicyType("Is"))})
	return b
}

// share draws a number of pods, or a share of them.
func (d dice) share() *intstr.IntOrString {
	if d.often(20) {
		return nil
	}
	return new(intstr.Parse(pick(d, "0", "0%", "1", "25%", "100%", "101%", "-1", "x")))
}

// selector draws a selector, which mostly selects labels.
func (d dice) selector(labels map[string]string) *metav1.LabelSelector {
	switch d.IntN(20) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return d.labelSelector()
	}
	return metav1.SetAsLabelSelector(labels)
}

func (d dice) labelSelector() *metav1.LabelSelector {
	if d.often(10) {
		return nil
	}
	out := &metav1.LabelSelector{}
	for range d.IntN(2) {
		out.MatchLabels = map[string]string{mostly(d, 4, labelNames): mostly(d, 4, labelValues)}
	}
	for range d.IntN(2) {
		operator := mostly(d, 4, operators)
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: mostly(d, 4, labelNames), Operator: metav1.LabelSelectorOperator(operator), Values: d.values(operator),
		})
	}
	return out
}

// values draws values that mostly are as many as an operator takes.
func (d dice) values(operator string) (out []string) {
	n := map[string]int{"In": 1 + d.IntN(2), "NotIn": 1, "Gt": 1, "Lt": 1}[operator]
	if d.often(3) {
		n = d.IntN(3)
	}
	for range n {
		out = append(out, mostly(d, 4, labelValues))
	}
	return out
}

func (d dice) podSpec() corev1.PodSpec {
	s := corev1.PodSpec{}
	for i := range 1 + d.IntN(2) {
		s.Containers = append(s.Containers, d.container(fmt.Sprint("c", i)))
	}
	for i := range d.IntN(3) {
		s.InitContainers = append(s.InitContainers, d.container(fmt.Sprint("i", i)))
		if d.often(30) {
			s.InitContainers[i].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
	}
	switch {
	case d.often(10):
		d.samePorts(&s)
	case d.often(3):
		s.Containers = nil
	}
	if d.often(20) {
		s.NodeSelector = map[string]string{mostly(d, 4, labelNames): mostly(d, 4, labelValues)}
	}
	for range d.IntN(2) {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{
			Key: mostly(d, 4, append(labelNames[:4:4], "", "-a")), Operator: corev1.TolerationOperator(mostly(d, 3, []string{"Equal", "", "Exists", "Lt", "Gt", "Is"})),
			Value: mostly(d, 1, []string{"", "x", "7", "-x", "1.5"}), Effect: corev1.TaintEffect(mostly(d, 3, []string{"NoExecute", "NoSchedule", "", "No"})),
		})
		if d.often(5) {
			s.Tolerations[0].TolerationSeconds = new(int64(5))
		}
	}
	for range d.IntN(3) {
		s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, d.spread())
	}
	if d.often(50) {
		s.Affinity = d.affinity()
	}
	if d.often(10) {
		s.SchedulingGates = []corev1.PodSchedulingGate{{Name: mostly(d, 4, labelNames)}, {Name: mostly(d, 3, []string{"d", "e", "f", "a", "-"})}}
	}
	return s
}

func (d dice) container(name string) corev1.Container {
	name, image := mostly(d, 1, []string{name, "c0", "i0", "", "A"}), mostly(d, 1, []string{"i", ""})
	c := corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: d.amounts(), Limits: d.amounts()}}
	if !d.often(10) {
		c.Resources.Limits = nil
	}
	for range d.IntN(2) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			ContainerPort: mostly(d, 2, []int32{80, 8080, 0, 70000}), HostPort: mostly(d, 1, []int32{0, 80, 81, 82, -1}),
			Protocol: corev1.Protocol(mostly(d, 2, []string{"", "UDP", "TCP", "HTTP"})), HostIP: pick(d, "", "127.0.0.1"),
		})
	}
	return c
}

// samePorts gives the same port of the node to two ports of containers or init containers, maybe of one.
func (d dice) samePorts(s *corev1.PodSpec) {
	all := s.Containers
	if len(s.InitContainers) > 0 && d.often(50) {
		all = s.InitContainers
	}
	for range 2 {
		c := &all[d.IntN(len(all))]
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: 80, HostPort: 80})
	}
}

func (d dice) amounts() corev1.ResourceList {
	out := d.list(20, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)
	if d.often(5) {
		for name, quantity := range d.list(30, resources...) {
			name = mostly(d, 1, []corev1.ResourceName{name, "gpu", "a.kubernetes.io/b", "requests.example.com/x", "-", "example.com/gpu"})
			if d.often(10) {
				quantity.Neg()
			}
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = quantity
		}
	}
	return out
}

func (d dice) spread() corev1.TopologySpreadConstraint {
	policies := []*corev1.NodeInclusionPolicy{nil, new(corev1.NodeInclusionPolicyHonor), new(corev1.NodeInclusionPolicyIgnore), new(corev1.NodeInclusionPolicy("Is"))}
	c := corev1.TopologySpreadConstraint{
		MaxSkew: mostly(d, 2, []int32{1, 2, 0, -1}), TopologyKey: mostly(d, 4, append(slices.Clone(labelNames), "")),
		WhenUnsatisfiable: corev1.UnsatisfiableConstraintAction(mostly(d, 2, []string{"DoNotSchedule", "ScheduleAnyway", "Maybe", ""})),
		LabelSelector:     d.labelSelector(), MinDomains: mostly(d, 1, []*int32{nil, new(int32(2)), new(int32(0))}),
		NodeAffinityPolicy: mostly(d, 3, policies), NodeTaintsPolicy: mostly(d, 3, policies),
	}
	if d.often(10) {
		c.MatchLabelKeys = []string{mostly(d, 1, []string{"k", "-k"})}
	}
	return c
}

func (d dice) affinity() *corev1.Affinity {
	a := &corev1.Affinity{}
	if d.often(50) {
		n := &corev1.NodeAffinity{}
		if d.often(50) {
			n.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
			for range mostly(d, 2, []int{1, 2, 0}) {
				n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = append(n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, d.nodeTerm())
			}
		} else {
			n.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: d.weight(), Preference: d.nodeTerm()}}
		}
		a.NodeAffinity = n
	}
	terms, weighted := []corev1.PodAffinityTerm{d.podTerm()}, []corev1.WeightedPodAffinityTerm{{Weight: d.weight(), PodAffinityTerm: d.podTerm()}}
	switch d.IntN(4) {
	case 0:
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	case 1:
		a.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
	case 2:
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms, PreferredDuringSchedulingIgnoredDuringExecution: weighted}
	}
	return a
}

func (d dice) weight() int32 { return mostly(d, 2, []int32{1, 100, 0, 101}) }

func (d dice) nodeTerm() (out corev1.NodeSelectorTerm) {
	requirement := func(key string, operator string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: d.values(operator)}
	}
	for range d.IntN(3) {
		out.MatchExpressions = append(out.MatchExpressions, requirement(mostly(d, 4, labelNames), mostly(d, 6, operators)))
	}
	for range d.IntN(2) {
		r := requirement(mostly(d, 1, []string{"metadata.name", "spec.nodeName"}), mostly(d, 2, operators))
		r.Values = []string{mostly(d, 2, []string{"n1", "n.2", "", "N"})}
		out.MatchFields = append(out.MatchFields, r)
	}
	return out
}

func (d dice) podTerm() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{LabelSelector: d.labelSelector(), TopologyKey: mostly(d, 4, append(slices.Clone(labelNames), ""))}
	if d.often(10) {
		t.NamespaceSelector = d.labelSelector()
	}
	if d.often(10) {
		t.Namespaces = []string{mostly(d, 1, []string{"ns", "n.s", ""})}
	}
	if d.often(10) {
		t.MatchLabelKeys, t.MismatchLabelKeys = []string{mostly(d, 1, []string{"k", "-k"})}, []string{mostly(d, 1, []string{"m", "k", "-m"})}
	}
	return t
}
