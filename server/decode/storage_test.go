package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// stored is a cluster whose storage objects decide about claiming.
func stored() *stowagev1.Cluster {
	zone := func(name string) *stowagev1.NodeSelector {
		return &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{{MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
			Key: "zone", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{name},
		}}}}}
	}
	c := storage()
	c.Nodes = []*stowagev1.Node{
		{Name: "a", Labels: map[string]string{"zone": "a"}, Allocatable: &stowagev1.Resources{Pods: new(int64(9))}},
		{Name: "b", Labels: map[string]string{"zone": "b"}, Allocatable: &stowagev1.Resources{Pods: new(int64(9))}},
	}
	c.PersistentVolumes = append(c.PersistentVolumes, &stowagev1.PersistentVolume{
		Name: "pv-0", NodeAffinity: zone("b"), Claim: &stowagev1.ClaimReference{Name: "bound"},
	})
	c.PersistentVolumeClaims = append(c.PersistentVolumeClaims, &stowagev1.PersistentVolumeClaim{
		Name: "bound", VolumeName: "pv-0", BindCompleted: true,
	})
	return c
}

func claiming() *stowagev1.Pod {
	return &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Volumes: []*stowagev1.Volume{{Source: &stowagev1.Volume_PersistentVolumeClaim{
			PersistentVolumeClaim: &stowagev1.PersistentVolumeClaimVolumeSource{ClaimName: "bound"},
		}}},
	}}}}
}

// sameStorage compares the address and the answers about a pod whose claim is bound to a volume of node b.
func sameStorage(t *testing.T, what string, want, got *decode.Snapshot) {
	t.Helper()
	if got.Address != want.Address {
		t.Errorf("%s: the address is %s, want %s", what, got.Address, want.Address)
	}
	if diff := cmp.Diff(answers(t.Context(), want, claiming()), answers(t.Context(), got, claiming())); diff != "" {
		t.Errorf("%s: the answers differ:\n%s", what, diff)
	}
}

// TestStorageHoweverItComes: inline, from the cache of clusters without nodes, in parts and by deltas, storage objects are the same.
func TestStorageHoweverItComes(t *testing.T) {
	c := stored()
	want := mustWhole(t, c)
	nodes, rest := split(c)
	bare := mustWhole(t, nodes)
	if cmp.Equal(answers(t.Context(), want, claiming()), answers(t.Context(), bare, claiming())) {
		t.Fatal("storage objects decide nothing")
	}
	var of decode.Nodeless
	for _, what := range []string{"inline", "remembered"} {
		sameStorage(t, what, want, inline(t, &of, wire.Pieces{marshal(t, c)}))
	}
	if of.Len() != 1 {
		t.Errorf("%d are remembered", of.Len())
	}
	early, late := proto.CloneOf(rest), &stowagev1.Cluster{}
	late.PersistentVolumes, early.PersistentVolumes = rest.PersistentVolumes[:1], rest.PersistentVolumes[1:]
	late.StorageClasses, early.StorageClasses = rest.StorageClasses[:1], rest.StorageClasses[1:]
	parts := decode.NewRequest(t.Context())
	for _, part := range []*stowagev1.Cluster{early, nodes, late} {
		parts.Part("part", wire.Pieces{marshal(t, part)})
	}
	if err := parts.Err(); err != nil {
		t.Fatal(err)
	}
	sameStorage(t, "in parts", want, parts.Cluster())
	added, err := follow(t, bare, &stowagev1.ClusterDelta{
		StorageClasses: c.StorageClasses, CsiDrivers: c.CsiDrivers, CsiStorageCapacities: c.CsiStorageCapacities,
		PersistentVolumes: c.PersistentVolumes, PersistentVolumeClaims: c.PersistentVolumeClaims,
	})
	if err != nil {
		t.Fatal(err)
	}
	sameStorage(t, "added", want, added)
	if bytes := want.Memory() - bare.Memory(); bytes < 2<<10 || bytes > 64<<10 {
		t.Errorf("storage objects take %d bytes", bytes)
	}
	named := func(namespace, name string) *stowagev1.NamespacedName {
		return &stowagev1.NamespacedName{Namespace: namespace, Name: name}
	}
	removed, err := follow(t, want, &stowagev1.ClusterDelta{
		RemovedStorageClasses: []string{"slow", "fast"}, RemovedCsiDrivers: []string{"files.example", "disks.example"},
		RemovedCsiStorageCapacities: []*stowagev1.NamespacedName{named("kube-system", "room"), named("default", "room")},
		RemovedPersistentVolumes:    []string{"pv-0", "pv-1", "pv-2"},
		RemovedPersistentVolumeClaims: []*stowagev1.NamespacedName{
			named("prod", "data-0"), named("", "data-0"), named("", "bound"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	sameStorage(t, "removed", bare, removed)
	c.PersistentVolumes[2].NodeAffinity.Terms[0].MatchExpressions[0].Values[0] = "a"
	replaced, err := follow(t, want, &stowagev1.ClusterDelta{PersistentVolumes: c.PersistentVolumes[2:]})
	if err != nil {
		t.Fatal(err)
	}
	sameStorage(t, "replaced", mustWhole(t, c), replaced)
}

func TestMalformedDeltasOfStorage(t *testing.T) {
	base := mustWhole(t, stored())
	for want, d := range map[string]*stowagev1.ClusterDelta{
		"delta.removed_persistent_volumes[0]: PersistentVolume not found in the snapshot": {RemovedPersistentVolumes: []string{"gone"}},
		"delta.storage_classes[1].name: duplicates storage_classes[0].name": {
			StorageClasses: []*stowagev1.StorageClass{{Name: "x"}, {Name: "x"}},
		},
		"delta.persistent_volume_claims[0].spec.storage_request: is -1, at least 0 is required": {
			PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{
				{Name: "x", Spec: &stowagev1.PersistentVolumeClaimSpec{StorageRequest: new(int64(-1))}},
			},
		},
		"delta.csi_drivers[0].name: is required": {CsiDrivers: []*stowagev1.CSIDriver{{}}},
	} {
		if _, err := follow(t, base, d); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
