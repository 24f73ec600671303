package extender

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest/storage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestDecidedPodsUseTheirClaims expects that a pod that is decided and not bound has its ReadWriteOncePod claim for itself, and counts
// against the limit of its node.
func TestDecidedPodsUseTheirClaims(t *testing.T) {
	w := start(t, Options{Decide: AtFilter}, makeNode("a", "z1"), makeNode("b", "z1"), storage.Class(storage.Delayed), storage.CSINode("a", 1),
		storage.Volume("v1", "z1", "sole"), storage.SoleClaim("sole", "v1"), storage.Volume("v2", "z1", "other"), storage.Claim("other", "v2"))
	if got := w.filter(storage.Use(makePod("first", "first"), "sole"), "a"); !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Fatalf("%+v", got)
	}
	got := w.filter(storage.Use(makePod("second", "second"), "sole"), "a", "b")
	for _, name := range []string{"a", "b"} {
		if !strings.Contains(got.FailedAndUnresolvableNodes[name], "ReadWriteOncePod") {
			t.Errorf("%+v", got)
		}
	}
	third := storage.Use(makePod("third", "third"), "other")
	if got := w.filter(third, "a"); got.FailedAndUnresolvableNodes["a"] != "node(s) exceed max volume count" {
		t.Errorf("%+v", got)
	}
	if got := w.filter(third, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("%+v", got)
	}
}

// TestClaimsThatKubeSchedulerKnowsBetter expects no rejection because of claims and volumes that this process may see later than
// kube-scheduler.
func TestClaimsThatKubeSchedulerKnowsBetter(t *testing.T) {
	now := storage.Claim("now", "")
	now.Spec.StorageClassName = new(storage.Immediate)
	w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), storage.Class(storage.Delayed), storage.Class(storage.Immediate),
		now, storage.Claim("unknown-volume", "v9"), storage.Volume("v1", "z1", "elsewhere"), storage.Claim("elsewhere", "v1"))
	for _, claim := range []string{"gone", "now", "unknown-volume", "elsewhere"} {
		p := storage.Use(makePod("with-"+claim, "p"), claim)
		if got := w.filter(p, "a", "b"); !slices.Equal(*got.NodeNames, []string{"a", "b"}) {
			t.Errorf("%s: %+v", claim, got)
		}
		if got := w.prioritize(p, "a", "b"); len(got) != 2 {
			t.Errorf("%s: %v", claim, got)
		}
	}
	p := makePod("ephemeral", "p")
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	if got := w.filter(p, "a"); !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Errorf("%+v", got)
	}
}

// TestProfileOfPodsWithClaims expects that no other pod gets another profile, and that a given one stays as it is.
func TestProfileOfPodsWithClaims(t *testing.T) {
	given := &stowagev1.Profile{DisabledFilters: []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_VOLUME_ZONE, stowagev1.Plugin_PLUGIN_NODE_PORTS}}
	w := read(t, startUnread(t, Options{Profile: given}, live.Options{}, nil, storage.Claim("c", "")))
	pending := func(p *corev1.Pod) *stowagev1.Pod {
		t.Helper()
		out, err := w.pending(p)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if w.profile(pending(makePod("p", "p"))) != given || len(given.DisabledFilters) != 2 {
		t.Errorf("%v", given)
	}
	disk := makePod("disk", "p")
	disk.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "d"}}}}
	if w.profile(pending(disk)) != given {
		t.Error("a disk is no claim")
	}
	got := w.profile(pending(storage.Use(makePod("p", "p"), "c"))).DisabledFilters
	slices.Sort(got)
	want := []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_NODE_PORTS, stowagev1.Plugin_PLUGIN_VOLUME_BINDING, stowagev1.Plugin_PLUGIN_VOLUME_ZONE}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("disabled %v, want %v", got, want)
	}
}
