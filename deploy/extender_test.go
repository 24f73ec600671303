package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

// extenderObjects are the objects in deploy/extender, each file strictly parsed, without configurations of kubectl and kube-scheduler.
func extenderObjects(t *testing.T) map[string][]deploytest.Object {
	t.Helper()
	out := map[string][]deploytest.Object{}
	files, err := fs.Glob(os.DirFS("extender"), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if slices.Contains([]string{"kustomization.yaml", "scheduler.yaml", "scheduler-exact.yaml"}, name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("extender", name))
		if err != nil {
			t.Fatal(err)
		}
		if out[name], err = deploytest.Read(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out
}

func TestExtenderFilesAreListedAndInOneNamespace(t *testing.T) {
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	text, err := os.ReadFile("extender/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	objects := extenderObjects(t)
	for _, name := range kustomization.Resources {
		if objects[name] == nil {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
	for name, of := range objects {
		if !slices.Contains(kustomization.Resources, name) {
			t.Errorf("%s is not listed", name)
		}
		for _, meta := range of {
			if meta.GetLabels()["app.kubernetes.io/part-of"] != "stowage" {
				t.Errorf("%s: %s is not labelled as part of stowage", name, meta.GetName())
			}
			if n := meta.GetNamespace(); n != "" && n != "stowage" && n != "kube-system" {
				t.Errorf("%s: %s is in namespace %q", name, meta.GetName(), n)
			}
		}
	}
}

// extenderConfig is what the manifests start the extender with.
func extenderConfig(t *testing.T, more ...string) (*extender.Config, corev1.Container) {
	t.Helper()
	pod := extenderObjects(t)["deployment.yaml"][0].(*appsv1.Deployment).Spec.Template.Spec
	container := pod.InitContainers[0]
	var c extender.Config
	parser, err := kong.New(&c)
	if err == nil {
		_, err = parser.Parse(append(container.Args, more...))
	}
	if err != nil {
		t.Fatal(err)
	}
	if *pod.TerminationGracePeriodSeconds <= int64((c.DrainDelay + c.ShutdownGracePeriod).Seconds()) {
		t.Error("the pod is killed before it has stopped")
	}
	return &c, container
}

// TestAccountsBesideTheExtender expects that the extender and kube-scheduler have accounts of their own, and that neither container has
// the other's token.
func TestAccountsBesideTheExtender(t *testing.T) {
	objects := extenderObjects(t)
	pod := objects["deployment.yaml"][0].(*appsv1.Deployment).Spec.Template.Spec
	token := objects["token.yaml"][0].(*corev1.Secret)
	own := token.Annotations[corev1.ServiceAccountNameKey]
	if own == "" || own == pod.ServiceAccountName || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("the extender's account is %q, the pod's %q, mounted in all containers unless that is false", own, pod.ServiceAccountName)
	}
	const at = "/var/run/secrets/kubernetes.io/serviceaccount"
	sources := map[string]string{}
	for _, v := range pod.Volumes {
		switch {
		case v.Secret != nil && v.Secret.SecretName == token.Name:
			sources[v.Name] = "extender"
		case v.Projected != nil:
			sources[v.Name] = "kube-scheduler"
		}
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		var has []string
		for _, m := range c.VolumeMounts {
			if of := sources[m.Name]; of != "" {
				has = append(has, of+" "+m.MountPath)
			}
		}
		if want := []string{c.Name + " " + at}; !slices.Equal(has, want) {
			t.Errorf("container %s has the tokens %v, want %v", c.Name, has, want)
		}
	}
	for file, account := range map[string]string{"rbac.yaml": own, "scheduler-rbac.yaml": pod.ServiceAccountName} {
		for _, o := range objects[file] {
			var subjects []rbacv1.Subject
			switch o := o.(type) {
			case *rbacv1.ClusterRoleBinding:
				subjects = o.Subjects
			case *rbacv1.RoleBinding:
				subjects = o.Subjects
			}
			for _, s := range subjects {
				if s.Name != account {
					t.Errorf("%s: %s is bound to %s, want %s", file, o.GetName(), s.Name, account)
				}
			}
		}
	}
}

func TestExtenderPortsAndProbes(t *testing.T) {
	c, container := extenderConfig(t)
	if _, port := splitPort(t, c.AdminAddress); len(container.Ports) != 1 || container.Ports[0].ContainerPort != port {
		t.Errorf("the admin address is %s, the ports are %v", c.AdminAddress, container.Ports)
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe, container.LivenessProbe} {
		if probe.HTTPGet.Port.StrVal != container.Ports[0].Name {
			t.Errorf("a probe asks port %v", probe.HTTPGet.Port)
		}
	}
}

// The two configurations of kube-scheduler fit the extender: its address, its verbs, its plugins, its scores.
func TestSchedulerConfigurations(t *testing.T) {
	for file, scores := range map[string]string{"scheduler.yaml": "rescaled", "scheduler-exact.yaml": "exact"} {
		c, _ := extenderConfig(t, "--scores="+scores)
		var s schedulerv1.KubeSchedulerConfiguration
		text, err := os.ReadFile(filepath.Join("extender", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var disabled []string
		for _, p := range s.Profiles[0].Plugins.MultiPoint.Disabled {
			disabled = append(disabled, p.Name)
		}
		if !slices.Equal(disabled, c.ScorePlugins) {
			t.Errorf("%s disables %v, the extender scores for %v", file, disabled, c.ScorePlugins)
		}
		e := s.Extenders[0]
		if e.URLPrefix != "http://"+c.ListenAddress || e.FilterVerb != "filter" || e.PrioritizeVerb != "prioritize" ||
			e.PreemptVerb != "preempt" || (e.BindVerb == "bind") != (c.Decide == "bind") || !e.NodeCacheCapable || e.Ignorable {
			t.Errorf("%s does not fit the extender: %+v", file, e)
		}
		if lease := s.LeaderElection.ResourceNamespace + "/" + s.LeaderElection.ResourceName; lease != c.SchedulerLease {
			t.Errorf("%s: kube-scheduler's lease is %s, the extender reads %s", file, lease, c.SchedulerLease)
		}
		if e.HTTPTimeout.Duration <= c.RequestTimeout {
			t.Errorf("%s: kube-scheduler waits no longer than the extender works", file)
		}
		// pkg/scheduler/apis/config/v1/default_plugins.go, v1.37: the two plugins weigh 2 each.
		weights := map[string]int32{}
		for _, p := range s.Profiles[0].Plugins.Score.Enabled {
			weights[p.Name] = *p.Weight
		}
		want, tenfold := int64(4), map[string]int32{}
		if scores == "exact" {
			want, tenfold = 1, map[string]int32{"TaintToleration": 30, "NodeAffinity": 20, "NodeResourcesFit": 10, "DynamicResources": 20,
				"NodeResourcesBalancedAllocation": 10, "ImageLocality": 10, "VolumeBinding": 10}
		}
		if e.Weight != want || len(weights) != len(tenfold) {
			t.Errorf("%s: the extender weighs %d, others %v", file, e.Weight, weights)
		}
		for name, weight := range tenfold {
			if weights[name] != weight {
				t.Errorf("%s: %s weighs %d, want %d", file, name, weights[name], weight)
			}
		}
	}
}
