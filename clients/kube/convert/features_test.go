package convert_test

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

const hostNetworkFeature, restartFeature, mountFeature = "UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits",
	"VolumeBindMountOptions"

// mounting returns a mount with options for bind mounts, and whether this release of Kubernetes has such.
func mounting() (out corev1.VolumeMount, ok bool) {
	out.Name = "v"
	options := reflect.ValueOf(&out).Elem().FieldByName("BindMountOptions")
	if !options.IsValid() {
		return out, false
	}
	options.Set(reflect.MakeSlice(options.Type(), 1, 1))
	options.Index(0).SetString("noexec")
	return out, true
}

func restarting(action corev1.ContainerRestartRuleAction) []corev1.ContainerRestartRule {
	return []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}, {Action: action}}
}

// TestRequiredFeatures has the conditions of InferForScheduling of each feature (k8s.io/component-helpers/nodedeclaredfeatures/features,
// v0.37). On a release without the features of nodes, the pod's fields are unread instead.
func TestRequiredFeatures(t *testing.T) {
	mount, hasOptions := mounting()
	for name, test := range map[string]struct {
		spec  corev1.PodSpec
		want  []string
		mount bool
	}{
		"none": {spec: corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{
			RestartPolicyRules: restarting(corev1.ContainerRestartRuleActionRestart), VolumeMounts: []corev1.VolumeMount{{Name: "v"}},
		}}}},
		"host network":      {spec: corev1.PodSpec{HostNetwork: true, HostUsers: new(bool)}, want: []string{hostNetworkFeature}},
		"host users":        {spec: corev1.PodSpec{HostNetwork: true, HostUsers: new(true)}},
		"pod network":       {spec: corev1.PodSpec{HostUsers: new(bool)}},
		"restart":           {spec: corev1.PodSpec{Containers: []corev1.Container{{}, {RestartPolicyRules: restarting("RestartAllContainers")}}}, want: []string{restartFeature}},
		"restart of init":   {spec: corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicyRules: restarting("RestartAllContainers")}}}, want: []string{restartFeature}},
		"mount":             {spec: corev1.PodSpec{Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{}, mount}}}}, want: []string{mountFeature}, mount: true},
		"mount of init":     {spec: corev1.PodSpec{InitContainers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{mount}}}}, want: []string{mountFeature}, mount: true},
		"ephemeral's mount": {spec: corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{VolumeMounts: []corev1.VolumeMount{mount}}}}}, want: []string{mountFeature}, mount: true},
		"several": {spec: corev1.PodSpec{HostNetwork: true, HostUsers: new(bool), Containers: []corev1.Container{
			{RestartPolicyRules: restarting("RestartAllContainers"), VolumeMounts: []corev1.VolumeMount{mount}},
		}}, want: []string{restartFeature, hostNetworkFeature, mountFeature}, mount: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.mount && !hasOptions {
				t.Skip("this release has no options of bind mounts")
			}
			out, err := convert.PendingPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: test.spec})
			if err != nil {
				t.Fatal(err)
			}
			got := out.GetTemplate().GetSpec().GetRequiredNodeFeatures()
			if !skew.HasDeclaredFeatures() {
				if len(got) > 0 || len(out.GetUnread()) != len(test.want) {
					t.Errorf("required are %q, unread %v", got, out.GetUnread())
				}
				return
			}
			if !slices.Equal(got, test.want) || len(out.GetUnread()) > 0 {
				t.Errorf("required are %q, unread %v, want %q", got, out.GetUnread(), test.want)
			}
		})
	}
}

// TestFeaturesOfPodsOnNodes: the replacement of a pod on a node has no ephemeral containers, and no rule of other pods reads what a pod
// on a node requires.
func TestFeaturesOfPodsOnNodes(t *testing.T) {
	if !skew.HasDeclaredFeatures() {
		t.Skip("this release has no features of nodes")
	}
	mount, _ := mounting()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "n", HostNetwork: true, HostUsers: new(bool),
		Containers: []corev1.Container{{RestartPolicyRules: restarting("RestartAllContainers")}},
		EphemeralContainers: []corev1.EphemeralContainer{
			{EphemeralContainerCommon: corev1.EphemeralContainerCommon{VolumeMounts: []corev1.VolumeMount{mount}}},
		},
	}}
	whole := convert.NewEnvironment(nil, nil)
	if got := whole.RunningPod(pod).Pod.GetTemplate().GetSpec().GetRequiredNodeFeatures(); !slices.Equal(got, []string{restartFeature, hostNetworkFeature}) {
		t.Errorf("the replacement requires %q", got)
	}
	if got := convert.OccupyingPod(pod).Pod.GetTemplate().GetSpec().GetRequiredNodeFeatures(); len(got) > 0 {
		t.Errorf("a pod on a node keeps %q", got)
	}
}

// TestDeclaredFeatures: kube-scheduler walks a node's list beside its own ascending one (component-helpers/nodedeclaredfeatures
// FeatureMapper.TryMap).
func TestDeclaredFeatures(t *testing.T) {
	if !skew.HasDeclaredFeatures() {
		t.Skip("this release has no features of nodes")
	}
	for _, test := range []struct{ features, want []string }{
		{},
		{[]string{"A", "B", "C"}, []string{"A", "B", "C"}},
		{[]string{"B", "A", "C"}, []string{"B", "C"}},
		{[]string{"C", "A", "B"}, []string{"C"}},
		{[]string{"A", "A", "", "B"}, []string{"A", "B"}},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		features := reflect.ValueOf(node).Elem().FieldByName("Status").FieldByName("DeclaredFeatures")
		features.Set(reflect.ValueOf(test.features))
		out, err := convert.Node(node)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.GetDeclaredFeatures(); !slices.Equal(got, test.want) {
			t.Errorf("of %q the node declares %q, want %q", test.features, got, test.want)
		}
	}
}
