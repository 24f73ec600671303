package compare_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/cli"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// missing are the rows about an object that is missing from a cluster. Files may leave it out, so the command has a doubt about these pods
// (docs/0031-volumes-in-manifests.md); a live cluster has all of its objects.
var missing = map[string]bool{
	"PVC does not exist": true, "pv not found": true, "bound-pvc,pv-not-exists": true,
	"generic-ephemeral,no-pvc": true, "pvc-not-found": true, "unbound volume no storage class": true, "failed to get PVC": true,
	"don't skip Filter when the pod has ephemeral volumes": true, "ephemeral volume missing": true,
}

// The command answers what kube-scheduler's tests record, about the objects as kubectl prints them.
func TestVolumeRowsByTheCommand(t *testing.T) {
	left := maps.Clone(missing)
	for _, table := range volumeRows(t).Tables {
		for i := range table.Rows {
			r := &table.Rows[i]
			t.Run(table.Test+"/"+strings.TrimSuffix(r.Row+", "+r.Step, ", "), func(t *testing.T) {
				answers := commanded(t, r.scenario(table.Plugin))
				if !missing[r.Row] {
					r.check(t, expect.Plugins[table.Plugin], answers)
				} else if delete(left, r.Row); len(answers.Filter[0].GetDoubts()) == 0 || len(answers.Place.GetDoubts()) == 0 {
					t.Error("no doubt about an object that is missing")
				}
			})
		}
	}
	for row := range left {
		t.Errorf("no row %s", row)
	}
}

// commanded are the answers of the command to the only pod of a case.
func commanded(t *testing.T, c *scenario.Case) *conformance.Answers {
	t.Helper()
	s, err := oracle.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": dump(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(profile, configuration(t, &c.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(verb string, out proto.Message) {
		var stdout, stderr bytes.Buffer
		args := []string{verb, "-o", "json", "-f", "-", "--profile", profile}
		code := cli.Run(t.Context(), args, bytes.NewReader(text), &stdout, &stderr)
		if code == 2 {
			t.Fatalf("stowage %v: %s", args, stderr.String())
		}
		if missing[strings.TrimPrefix(c.Name, "volumes/")] != (code == 3) {
			t.Errorf("stowage %s exits with %d", verb, code)
		}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(stdout.Bytes(), out); err != nil {
			t.Fatal(err)
		}
	}
	filter, score, place := new(stowagev1.FilterResponse), new(stowagev1.ScoreResponse), new(stowagev1.PlaceResponse)
	ask("filter", filter)
	ask("score", score)
	ask("place", place)
	return &conformance.Answers{Filter: []*stowagev1.FilterResponse{filter}, Score: []*stowagev1.ScoreResponse{score}, Place: place}
}

// dump is the objects of a scheduler, as kubectl prints them.
func dump(t *testing.T, s *oracle.Scheduler) []runtime.Object {
	t.Helper()
	of := &s.Storage
	return slices.Concat(
		printed(t, s.Nodes), printed(t, s.Namespaces), printed(t, s.Pods), printed(t, s.Queue), printed(t, of.StorageClasses),
		printed(t, of.CSIDrivers), printed(t, of.CSINodes), printed(t, of.CSIStorageCapacities), printed(t, of.VolumeAttachments),
		printed(t, of.PersistentVolumes), printed(t, of.PersistentVolumeClaims),
	)
}

type object interface {
	runtime.Object
	metav1.Object
}

// printed returns objects with their kinds, uids and resource versions.
func printed[T object](t *testing.T, objects []T) (out []runtime.Object) {
	t.Helper()
	for _, in := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(in)
		if err != nil {
			t.Fatal(err)
		}
		o := in.DeepCopyObject().(object)
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
		if o.GetUID() == "" {
			o.SetUID(types.UID("uid-" + o.GetName()))
		}
		o.SetResourceVersion("1")
		out = append(out, o)
	}
	return out
}

// configuration is a KubeSchedulerConfiguration with the plugins that a case disables.
func configuration(t *testing.T, c *scenario.Config) []byte {
	t.Helper()
	disabled := func(names []string) (set schedulerv1.PluginSet) {
		for _, n := range names {
			set.Disabled = append(set.Disabled, schedulerv1.Plugin{Name: n})
		}
		return set
	}
	text, err := json.Marshal(&schedulerv1.KubeSchedulerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubescheduler.config.k8s.io/v1", Kind: "KubeSchedulerConfiguration"},
		Profiles: []schedulerv1.KubeSchedulerProfile{{Plugins: &schedulerv1.Plugins{
			PreFilter: disabled(c.DisabledFilters), Filter: disabled(c.DisabledFilters),
			Reserve: disabled(c.DisabledFilters), PreBind: disabled(c.DisabledFilters),
			PreScore: disabled(c.DisabledScores), Score: disabled(c.DisabledScores),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
