// Package admission_test compares what clients/kube makes of a pod that is about to be created with what kube-apiserver's own
// admission plugins make of it: LimitRanger, Priority, DefaultTolerationSeconds and RuntimeClass; and what clients/kube/validate refuses
// with what kube-apiserver's validation refuses.
package admission_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const cases = 4000

func TestAdmissionEqualsThePlugins(t *testing.T) {
	var accepted, rejected int
	for seed := range uint64(cases) {
		w := draw(rand.New(rand.NewPCG(seed, 37)))
		stored, reasons, err := w.admitted()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := w.ours(t)
		if len(reasons) > 0 {
			rejected++
			for _, reason := range reasons {
				if !strings.Contains(got.message, reason) {
					t.Errorf("seed %d: the plugins reject the pod: %s\nhere it is %q", seed, reason, got.message)
				}
			}
			continue
		}
		accepted++
		// What an API server has stored is converted as it is.
		want := converted(t, nil, stored)
		if d := gocmp.Diff(want, got, protocmp.Transform(), gocmp.AllowUnexported(result{})); d != "" {
			t.Errorf("seed %d: (-the plugins +here)\n%s", seed, d)
		}
		if t.Failed() {
			text, _ := yaml.Marshal([]any{w.pod, stored, w.ranges})
			t.Fatalf("the pod, what is stored, and the LimitRanges:\n%s", text)
		}
	}
	t.Logf("%d pods accepted, %d rejected", accepted, rejected)
	if min(accepted, rejected) < cases/10 {
		t.Error("too few of either kind")
	}
}

// result is a pending pod, or why there is none.
type result struct {
	pod      *stowagev1.Pod
	template *stowagev1.PodTemplate
	// tolerated says of each taint whether the pod tolerates it: the plugins leave out tolerations that others include.
	tolerated []bool
	message   string
}

func (w *world) ours(t *testing.T) result {
	return converted(t, func(b *kube.Builder) {
		for _, l := range w.ranges {
			must(t, b.AddLimitRange(l))
		}
		for _, c := range w.priorities {
			must(t, b.AddPriorityClass(c))
		}
		for _, c := range w.runtimes {
			must(t, b.AddRuntimeClass(c))
		}
	}, w.pod)
}

func converted(t *testing.T, add func(*kube.Builder), pod *corev1.Pod) result {
	b := kube.NewBuilder(kube.Options{})
	if err := b.AddPod(pod); !errors.As(err, new(*kube.Misread)) { // those wait with the others
		must(t, err)
	}
	if add != nil {
		add(b)
	}
	s, err := b.Build()
	must(t, err)
	if len(s.Waiting) > 0 {
		return result{message: s.Waiting[0].Message}
	}
	out := result{pod: s.Queue[0].Pods.Pod, template: s.Cluster.PodTemplates[0]}
	for _, taint := range taints() {
		out.tolerated = append(out.tolerated, slices.ContainsFunc(out.template.Spec.Tolerations, func(o *stowagev1.Toleration) bool {
			return (o.Key == taint.Key || o.Key == "") && (o.Effect == taint.Effect || o.Effect == 0) &&
				(o.Operator == stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS || o.Value == taint.Value)
		}))
	}
	out.template.Spec.Tolerations = nil
	return out
}

func taints() (out []*stowagev1.Taint) {
	for _, key := range append(slices.Clone(keys), "other") {
		for _, value := range []string{"x", "y", "z"} {
			for effect := stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE; effect <= stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE; effect++ {
				out = append(out, &stowagev1.Taint{Key: key, Value: value, Effect: effect})
			}
		}
	}
	return out
}

// admitted returns the pod as the API server stores it, or why the plugins reject it.
func (w *world) admitted() (stored *corev1.Pod, reasons []string, err error) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	add := func(indexer interface{ Add(any) error }, o any) { err = errors.Join(err, indexer.Add(o)) }
	var ranges []*corev1.LimitRange
	for _, l := range w.ranges {
		l = l.DeepCopy()
		corev1conversion.SetObjectDefaults_LimitRange(l)
		ranges = append(ranges, l)
		add(factory.Core().V1().LimitRanges().Informer().GetIndexer(), l)
	}
	for _, c := range append(schedulingdefaults.SystemPriorityClasses(), w.priorities...) {
		c = c.DeepCopy()
		schedulingdefaults.SetDefaults_PriorityClass(c)
		add(factory.Scheduling().V1().PriorityClasses().Informer().GetIndexer(), c)
	}
	for _, c := range w.runtimes {
		add(factory.Node().V1().RuntimeClasses().Informer().GetIndexer(), c)
	}
	ranger, rangerErr := limitranger.NewLimitRanger(nil)
	if err := errors.Join(err, rangerErr); err != nil {
		return nil, nil, err
	}
	ranger.SetExternalKubeClientSet(client)
	ranger.SetExternalKubeInformerFactory(factory)
	prioritizer := priority.NewPlugin()
	prioritizer.SetExternalKubeClientSet(client)
	prioritizer.SetExternalKubeInformerFactory(factory)
	tolerator := defaulttolerationseconds.NewDefaultTolerationSeconds()
	tolerator.InspectFeatureGates(nil)
	runtimer := runtimeclass.NewRuntimeClass()
	runtimer.SetExternalKubeClientSet(client)
	runtimer.SetExternalKubeInformerFactory(factory)

	defaulted := w.pod.DeepCopy()
	corev1conversion.SetObjectDefaults_Pod(defaulted)
	var pod core.Pod
	if err := corev1conversion.Convert_v1_Pod_To_core_Pod(defaulted, &pod, nil); err != nil {
		return nil, nil, err
	}
	a := admission.NewAttributesRecord(&pod, nil, core.Kind("Pod").WithVersion("version"), pod.Namespace, pod.Name,
		core.Resource("pods").WithVersion("version"), "", admission.Create, &metav1.CreateOptions{}, false, nil)
	ctx := context.Background()
	// In the order of pkg/kubeapiserver/options/plugins.go: plugins that change the pod, the strategy's defaults
	// (pkg/registry/core/pod/strategy.go PrepareForCreate), then plugins that validate it.
	for _, plugin := range []admission.MutationInterface{ranger, prioritizer, tolerator, runtimer} {
		if err := plugin.Admit(ctx, a, nil); err != nil {
			return nil, []string{reasonOf(err)}, nil
		}
	}
	podutil.DefaultPodLevelResources(&pod)
	for _, plugin := range []admission.ValidationInterface{ranger, runtimer} {
		if err := plugin.Validate(ctx, a, nil); err == nil {
			continue
		} else if plugin != admission.ValidationInterface(ranger) {
			return nil, []string{reasonOf(err)}, nil
		}
		for _, l := range ranges {
			err := limitranger.PodValidateLimitFunc(l, &pod)
			if all := utilerrors.Aggregate(nil); errors.As(err, &all) {
				for _, one := range all.Errors() {
					reasons = append(reasons, one.Error())
				}
			}
		}
		return nil, reasons, nil
	}
	stored = new(corev1.Pod)
	if err := corev1conversion.Convert_core_Pod_To_v1_Pod(&pod, stored, nil); err != nil {
		return nil, nil, err
	}
	corev1conversion.SetObjectDefaults_Pod(stored) // as whoever reads it
	stored.UID = "u"
	return stored, nil, nil
}

// reasonOf is the text of a rejection without "is forbidden".
func reasonOf(err error) string {
	_, text, found := strings.Cut(err.Error(), " is forbidden: ")
	return cmp.Or(map[bool]string{true: text}[found], err.Error())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a pod to create, and the objects that the plugins read. The pod's classes exist, and where it has a priority, a
// preemption policy or an overhead it has a class: clients/kube is more lenient with manifests than the API server.
type world struct {
	pod        *corev1.Pod
	ranges     []*corev1.LimitRange
	priorities []*schedulingv1.PriorityClass
	runtimes   []*nodev1.RuntimeClass
}
