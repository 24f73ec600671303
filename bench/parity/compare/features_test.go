package compare_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	restartFeature     = "RestartAllContainersOnContainerExits"
	hostNetworkFeature = "UserNamespacesHostNetworkSupport"
	mountFeature       = "VolumeBindMountOptions"
)

// featureReplay is a row of a table in kube-scheduler's tests of NodeDeclaredFeatures. Their features A, B and C are those above, because
// only a field of the pod requires a feature here. A row of PreFilter has no node, so one that declares nothing stands for it.
type featureReplay struct {
	line               int
	requires, declares []string
	disabled, rejected bool
}

var featureReplays = []featureReplay{
	{line: 73, disabled: true},
	{line: 85, requires: []string{restartFeature}, rejected: true},
	{line: 97, requires: []string{restartFeature, hostNetworkFeature}, rejected: true},
	{line: 109},
	{line: 194, declares: []string{restartFeature, hostNetworkFeature}, disabled: true},
	{line: 202, requires: []string{restartFeature}, declares: []string{restartFeature, hostNetworkFeature}},
	{line: 210, requires: []string{restartFeature}, declares: []string{hostNetworkFeature}, rejected: true},
	{
		line: 218, requires: []string{restartFeature, mountFeature},
		declares: []string{restartFeature, hostNetworkFeature, mountFeature}, disabled: true,
	},
	{line: 225, requires: []string{restartFeature}, rejected: true},
	{line: 233, requires: []string{restartFeature, hostNetworkFeature}, declares: []string{restartFeature}, rejected: true},
}

// featuresUnexpressed are the other rows.
var featuresUnexpressed = map[string]string{
	"nodedeclaredfeatures_test.go:121": "a feature that no node needs to declare from a version on: none has such a version in v1.37.1",
	"nodedeclaredfeatures_test.go:241": "Filter without PreFilter's state, which no cycle runs",

	"nodedeclaredfeatures_test.go TestEnqueueExtensionsNodeUpdate":                hintReason,
	"nodedeclaredfeatures_test.go TestIsSchedulableAfterTargetPodUpdate":          hintReason,
	"nodedeclaredfeatures_test.go TestEventsToRegister":                           hintReason,
	"nodedeclaredfeatures_test.go TestNodeDeclaredFeatures_DeferredResizeSkipped": resizeReason,
}

const hintReason = "nodes and specs of pods do not change within a request, so these events do not occur"

// requiring returns a pod that requires features.
func requiring(names ...string) *corev1.Pod {
	p := on("", "p", 0, 0)
	if slices.Contains(names, hostNetworkFeature) {
		p.Spec.HostNetwork, p.Spec.HostUsers = true, new(bool)
	}
	c := &p.Spec.Containers[0]
	if slices.Contains(names, restartFeature) {
		c.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{
			Action:    corev1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{1}},
		}}
	}
	if slices.Contains(names, mountFeature) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", BindMountOptions: []string{string(corev1.BindMountOptionNoExec)}}}
	}
	return p
}

func TestFeatureReplay(t *testing.T) {
	for _, r := range featureReplays {
		t.Run(fmt.Sprint("nodedeclaredfeatures_test.go:", r.line), func(t *testing.T) {
			node := replayedNode("node-1")
			node.Status.DeclaredFeatures = r.declares
			in := &scenario.Case{
				Name: fmt.Sprint("features/", r.line), Nodes: []*corev1.Node{node},
				Queue: []scenario.Pending{{Pod: requiring(r.requires...), Count: 1}},
			}
			if r.disabled {
				in.Config.DisabledFilters = []string{"NodeDeclaredFeatures"}
			}
			got, err := compare.Run(t.Context(), in, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range got.Differences {
				t.Error("Stowage answers otherwise:", d)
			}
			rejections := got.Answers.Filter[0].GetRejections()
			if !r.rejected {
				if len(rejections) > 0 {
					t.Errorf("rejected: %v", rejections)
				}
				return
			}
			if len(rejections) != 1 || rejections[0].GetPlugin() != stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES ||
				rejections[0].GetCode() != stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE ||
				rejections[0].GetReasons()[0].GetMessage() != "node(s) didn't match Pod's required features" {
				t.Errorf("rejections are %v", rejections)
			}
		})
	}
}

// TestListsOfFeatures compares what a converted node declares with what kube-scheduler reads of any list of features, ascending or not.
func TestListsOfFeatures(t *testing.T) {
	var names []string
	for _, f := range features.AllFeatures {
		names = append(names, f.Name())
	}
	registry := slices.Clone(names)
	names = append(names, "", "Aardvark", "Unknown", "Zebra")
	rng := rand.New(rand.NewPCG(5, 6))
	lost := 0
	for range 50_000 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		for range rng.IntN(6) {
			node.Status.DeclaredFeatures = append(node.Status.DeclaredFeatures, draw(rng, names))
		}
		if rng.IntN(2) == 0 {
			slices.Sort(node.Status.DeclaredFeatures)
		}
		want, err := nodedeclaredfeatures.DefaultFramework.Unmap(nodedeclaredfeatures.DefaultFramework.TryMap(node.Status.DeclaredFeatures))
		if err != nil {
			t.Fatal(err)
		}
		out, err := convert.Node(node)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(out.GetDeclaredFeatures(), func(name string) bool { return !slices.Contains(registry, name) })
		if !slices.Equal(got, want) {
			t.Fatalf("of %q the node declares %q, kube-scheduler reads %q", node.Status.DeclaredFeatures, got, want)
		}
		if len(want) < len(node.Status.DeclaredFeatures) {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no list loses a name")
	}
}
