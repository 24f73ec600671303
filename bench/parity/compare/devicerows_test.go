package compare_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// deviceTable is a table of the tests of kube-scheduler's plugin DynamicResources.
type deviceTable struct {
	tableOf
	Rows []deviceRow `json:"rows"`
}

// deviceRow is one situation, and what the plugin answered.
type deviceRow struct {
	Row     string           `json:"row"`
	Pod     *corev1.Pod      `json:"pod"`
	Pods    []*corev1.Pod    `json:"pods"`
	Nodes   []*corev1.Node   `json:"nodes"`
	Devices scenario.Devices `json:"devices"`

	// Refused is what the plugin says of the pod, whatever the node, Rejected what it says of each node, empty for one that it does not
	// reject, and Error the error with which it ended the cycle.
	Refused  string   `json:"refused"`
	Rejected []string `json:"rejected"`
	Error    string   `json:"error"`
	// Scores are the weighted scores by node, nil if the row records none.
	Scores []int64 `json:"scores"`
	// Granted are the devices of the claims that are allocated, nil if the row records none.
	Granted []string `json:"granted"`
}

// deviceFile has the tables, and the tests that are not run.
type deviceFile struct {
	Tables []deviceTable `json:"tables"`
	Others []otherTests  `json:"others"`
}

// The plugin of a whole kube-scheduler answers what its own test records, and Stowage the same, field by field, in this process and over
// gRPC.
func TestDeviceRows(t *testing.T) {
	remote := conformance.Remote(servertest.Connect(t))
	for _, table := range recorded[deviceFile](t, "devices.yaml").Tables {
		for i := range table.Rows {
			r := &table.Rows[i]
			t.Run(table.Test+"/"+r.Row, func(t *testing.T) {
				c := r.scenario()
				r.check(t, agreed(t, c).Answers)
				result, err := compare.Run(t.Context(), c, remote)
				if err != nil || len(result.Differences) > 0 {
					t.Error("over gRPC:", result, err)
				}
			})
		}
	}
}

// scenario completes the objects with what the API server requires.
func (r *deviceRow) scenario() *scenario.Case {
	c := &scenario.Case{Name: "devices/" + r.Row, Nodes: r.Nodes, Pods: r.Pods, Devices: r.Devices}
	c.Config.DisabledFilters = []string{names.NodeResourcesFit}
	for _, n := range c.Nodes {
		if n.Status.Allocatable == nil {
			n.Status.Allocatable = corev1.ResourceList{}
		}
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("32")
		n.Status.Capacity = n.Status.Allocatable
	}
	for _, p := range append(slices.Clone(c.Pods), r.Pod) {
		completeClaimant(p)
	}
	for _, claim := range c.Devices.ResourceClaims {
		if claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			if result := &claim.Status.Allocation.Devices.Results[i]; result.ShareID != nil {
				result.ShareID = new(types.UID("00000000-0000-0000-0000-000000000001"))
			}
		}
		for i := range claim.Status.Devices {
			for j := range claim.Status.Devices[i].Conditions {
				condition := &claim.Status.Devices[i].Conditions[j]
				condition.Reason = cmp.Or(condition.Reason, "Recorded")
				condition.LastTransitionTime = c.Nodes[0].CreationTimestamp
			}
		}
	}
	c.Queue = []scenario.Pending{{Pod: r.Pod, Count: 1}}
	return c
}

// completeClaimant gives a pod containers, and the limits that extended resources need.
func completeClaimant(p *corev1.Pod) {
	if len(p.Spec.Containers) == 0 {
		p.Spec.Containers = []corev1.Container{{}}
	}
	for i, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for j := range all {
			c := &all[j]
			c.Name, c.Image = cmp.Or(c.Name, fmt.Sprintf("c-%d-%d", i, j)), cmp.Or(c.Image, "app:v1")
			c.Resources.Limits = c.Resources.Requests
		}
	}
}

// check compares the answers with what the row records.
func (r *deviceRow) check(t *testing.T, got *conformance.Answers) {
	t.Helper()
	filter := got.Filter[0]
	rejected := make([]string, len(r.Nodes))
	for _, rejection := range filter.GetRejections() {
		if rejection.GetPlugin() != stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES {
			t.Errorf("rejected by another plugin: %v", rejection)
		}
		for _, node := range rejection.GetNodes().GetIndexes() {
			rejected[node] = rejection.GetReasons()[0].GetMessage()
		}
	}
	want := r.Rejected
	if r.Refused != "" {
		want = slices.Repeat([]string{r.Refused}, len(r.Nodes))
	}
	if r.Error == "" && !slices.Equal(rejected, want) {
		t.Errorf("the nodes are rejected because of %q, not of %q", rejected, want)
	}
	if filter.GetInternalError() != (r.Error != "") || !strings.Contains(filter.GetMessage(), r.Error) {
		t.Errorf("%q, without the error %q", filter.GetMessage(), r.Error)
	}
	for _, of := range got.Score[0].GetPluginScores() {
		if of.GetPlugin() == stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES && r.Scores != nil && !slices.Equal(of.GetWeightedScores(), r.Scores) {
			t.Errorf("the scores are %d, not %d", of.GetWeightedScores(), r.Scores)
		}
	}
	var granted []string
	for _, of := range got.Place.GetClaimDevices() {
		for _, text := range texts(of.GetDevices()) {
			granted = append(granted, strings.TrimSpace(of.GetName()+" "+text))
		}
	}
	if r.Granted != nil && !slices.Equal(granted, r.Granted) {
		t.Errorf("%q are given, not %q", granted, r.Granted)
	}
}

// Every row of the plugin's tables is run, or listed with the reason why it is not.
func TestEveryDeviceRowIsRunOrListed(t *testing.T) {
	file := recorded[deviceFile](t, "devices.yaml")
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
