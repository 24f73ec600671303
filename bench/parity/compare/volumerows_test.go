package compare_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// volumeTable is a table of kube-scheduler's tests about volumes.
type volumeTable struct {
	tableOf
	Plugin string      `json:"plugin"`
	Rows   []volumeRow `json:"rows"`
}

// volumeRow is one situation, and what kube-scheduler's code answers.
type volumeRow struct {
	Row     string           `json:"row"`
	Step    string           `json:"step"`
	Pod     *corev1.Pod      `json:"pod"`
	Pods    []*corev1.Pod    `json:"pods"`
	Nodes   []*corev1.Node   `json:"nodes"`
	Storage scenario.Storage `json:"storage"`

	// Rejected are the reasons by node, empty for a node that the plugin does not reject. Fails says that they are not recorded.
	Rejected [][]string `json:"rejected"`
	Fails    bool       `json:"fails"`
	Scores   []int64    `json:"scores"`
	// Binds are the claims that are bound, each with its volume unless one is provisioned; nil if the row records none.
	Binds []string `json:"binds"`
}

// volumeFile has the tables, and the tests that are not run.
type volumeFile struct {
	Tables []volumeTable `json:"tables"`
	Others []otherTests  `json:"others"`
}

func volumeRows(t *testing.T) volumeFile {
	t.Helper()
	return recorded[volumeFile](t, "volumes.yaml")
}

// recorded reads a file of kube-scheduler's tables.
func recorded[T any](t *testing.T, name string) (file T) {
	t.Helper()
	data, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// A plugin of a whole kube-scheduler answers what its own test records, and Stowage the same, field by field, in this process and over gRPC.
func TestVolumeRows(t *testing.T) {
	remote := conformance.Remote(servertest.Connect(t))
	for _, table := range volumeRows(t).Tables {
		for i := range table.Rows {
			r := &table.Rows[i]
			t.Run(table.Test+"/"+strings.TrimSuffix(r.Row+", "+r.Step, ", "), func(t *testing.T) {
				c := r.scenario(table.Plugin)
				r.check(t, expect.Plugins[table.Plugin], agreed(t, c).Answers)
				result, err := compare.Run(t.Context(), c, remote)
				if err != nil || len(result.Differences) > 0 {
					t.Error("over gRPC:", result, err)
				}
			})
		}
	}
}

// scenario completes the objects with what the API server requires, and disables the other plugins for volumes.
func (r *volumeRow) scenario(plugin string) *scenario.Case {
	c := &scenario.Case{Name: "volumes/" + r.Row, Nodes: r.Nodes, Pods: r.Pods, Storage: r.Storage}
	for _, other := range []string{names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone} {
		if other != plugin {
			c.Config.DisabledFilters = append(c.Config.DisabledFilters, other)
		}
	}
	if plugin != names.VolumeBinding {
		c.Config.DisabledScores = []string{names.VolumeBinding} // it reads what it filtered
	}
	for _, n := range c.Nodes {
		n.Namespace = ""
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("32")}
		n.Status.Capacity = n.Status.Allocatable
	}
	if r.Pod == nil {
		r.Pod = &corev1.Pod{}
	}
	completePod(r.Pod, "pending", corev1.NamespaceDefault)
	for i, p := range c.Pods {
		completePod(p, fmt.Sprintf("existing-%d", i), r.Pod.Namespace)
		p.Spec.NodeName = c.Nodes[0].Name
	}
	c.Queue = []scenario.Pending{{Pod: r.Pod, Count: 1}}
	for _, claim := range c.Storage.PersistentVolumeClaims {
		completeClaim(claim, r.Pod)
	}
	for _, v := range c.Storage.PersistentVolumes {
		completeVolume(v)
	}
	return c
}

func completePod(p *corev1.Pod, name, namespace string) {
	if p.Name == "" {
		p.Name = name
	}
	if p.Namespace == "" {
		p.Namespace = namespace
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:v1"}}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		switch {
		case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate == nil:
			v.Ephemeral.VolumeClaimTemplate = &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: storageOf("1"),
			}}
		case v.Ephemeral == nil:
			v.Name = fmt.Sprintf("volume-%d", i) // some are named twice
		}
		if v.ConfigMap != nil {
			v.ConfigMap.Name = "config"
		}
		if v.Secret != nil {
			v.Secret.SecretName = "secret"
		}
		if (v.VolumeSource == corev1.VolumeSource{}) {
			v.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
}

func storageOf(amount string) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(amount)}}
}

func completeClaim(c *corev1.PersistentVolumeClaim, pod *corev1.Pod) {
	if c.Namespace == "" {
		c.Namespace = pod.Namespace
	}
	if c.Spec.AccessModes == nil {
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if c.Spec.Resources.Requests.Storage().IsZero() {
		c.Spec.Resources = storageOf("1")
	}
	for i := range c.OwnerReferences {
		o := &c.OwnerReferences[i]
		o.APIVersion, o.Kind = "v1", "Pod"
		if o.Name == "" {
			o.Name = pod.Name
		}
		if o.UID == "" {
			o.UID = types.UID(c.Namespace + "/" + o.Name)
		}
	}
}

func completeVolume(v *corev1.PersistentVolume) {
	v.Namespace = ""
	if v.Spec.AccessModes == nil {
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if v.Spec.Capacity == nil {
		v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1")}
	}
	switch source := &v.Spec.PersistentVolumeSource; {
	case source.RBD != nil:
		source.RBD.CephMonitors = []string{"a"}
	case *source == corev1.PersistentVolumeSource{}:
		source.NFS = &corev1.NFSVolumeSource{Server: "nfs.test", Path: "/"}
	}
	if v.Spec.VolumeAttributesClassName != nil && v.Spec.CSI == nil {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "driver.test", VolumeHandle: v.Name},
		}
	}
}

// check compares the answers with what the row records.
func (r *volumeRow) check(t *testing.T, plugin stowagev1.Plugin, got *conformance.Answers) {
	t.Helper()
	rejected := make([][]string, len(r.Nodes))
	for _, rejection := range got.Filter[0].GetRejections() {
		if rejection.GetPlugin() != plugin {
			t.Errorf("rejected by another plugin: %v", rejection)
		}
		for _, node := range rejection.GetNodes().GetIndexes() {
			for _, reason := range rejection.GetReasons() {
				rejected[node] = append(rejected[node], reason.GetMessage())
			}
		}
	}
	for i, want := range r.Rejected {
		if r.Fails && len(rejected[i]) > 0 {
			continue
		}
		if r.Fails || !slices.Equal(want, rejected[i]) {
			t.Errorf("%s is rejected because of %q, not of %q", r.Nodes[i].Name, rejected[i], want)
		}
	}
	if r.Scores != nil && len(got.Score) > 0 {
		for _, of := range got.Score[0].GetPluginScores() {
			if of.GetPlugin() == plugin {
				r.checkScores(t, got.Score[0].GetNodes().GetIndexes(), of.GetWeightedScores())
			}
		}
	}
	if r.Binds == nil {
		return
	}
	var bound []string
	for _, b := range got.Place.GetClaimBindings() {
		bound = append(bound, strings.TrimSpace(b.GetName()+" "+b.GetVolumeName()))
	}
	if !slices.Equal(slices.Sorted(slices.Values(bound)), slices.Sorted(slices.Values(r.Binds))) {
		t.Errorf("%q are bound, not %q", bound, r.Binds)
	}
}

// checkScores compares the scores of the feasible nodes.
func (r *volumeRow) checkScores(t *testing.T, nodes []uint32, scores []int64) {
	t.Helper()
	for i, node := range nodes {
		if scores[i] != r.Scores[node] {
			t.Errorf("%s has the score %d, not %d", r.Nodes[node].Name, scores[i], r.Scores[node])
		}
	}
}

// Every row about volumes in kube-scheduler's tests is run, or listed with the reason why it is not.
func TestEveryVolumeRowIsRunOrListed(t *testing.T) {
	file := volumeRows(t)
	var tables []runTable
	for i := range file.Tables {
		of := &file.Tables[i]
		run := runTable{tableOf: of.tableOf}
		for j := range of.Rows {
			run.run = append(run.run, of.Rows[j].Row)
		}
		tables = append(tables, run)
	}
	checkTables(t, tables, file.Others)
}
