package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
)

const (
	disksDriver = "disks.example"
	filesDriver = "files.example"
)

// RandomStorage gives a random cluster storage objects, its nodes CSI drivers, and pods claims and disks. Pods with a claim that another
// pod may have get templates of their own.
func RandomStorage(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	zones := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: requirements(zoneKey, pick(rng, "a", "b"))}}}
	c.Storage.Classes = []api.StorageClass{
		{Name: "delayed", Provisioner: disksDriver, VolumeBindingMode: api.WaitForFirstConsumer},
		{Name: "immediate", Provisioner: "kubernetes.io/example-disk", CSIDriver: disksDriver, VolumeBindingMode: api.BindImmediately},
		{Name: "local", Provisioner: api.NoProvisioner, VolumeBindingMode: api.WaitForFirstConsumer},
		{Name: "modeless"},
		{Name: "zonal", Provisioner: filesDriver, VolumeBindingMode: api.WaitForFirstConsumer, AllowedTopologies: zones},
	}
	c.Storage.Drivers = []api.CSIDriver{
		{Name: disksDriver, StorageCapacity: rng.IntN(2) == 0, PreventPodSchedulingIfMissing: rng.IntN(6) == 0},
		{Name: filesDriver},
	}
	for i := range rng.IntN(4) {
		of := api.StorageCapacity{Namespace: "default", Name: fmt.Sprint("room-", i), StorageClassName: pick(rng, "delayed", "zonal")}
		of.NodeTopology = pick(rng, nil, &api.LabelSelector{}, Selects(zoneKey, "a"))
		of.Capacity = pick(rng, nil, new(int64(10<<30)), new(int64(1<<30)))
		of.MaximumVolumeSize = pick(rng, nil, new(int64(2<<30)))
		c.Storage.Capacities = append(c.Storage.Capacities, of)
	}
	for i := range 9 - rng.IntN(3) {
		c.Storage.Volumes = append(c.Storage.Volumes, randomVolume(rng, fmt.Sprint("volume-", i), len(c.Nodes)))
	}
	for i := range 9 - rng.IntN(3) {
		c.Storage.Claims = append(c.Storage.Claims, randomClaim(rng, fmt.Sprint("data-", i)))
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if rng.IntN(3) > 0 {
			n.CSINode = randomCSINode(rng)
		}
		if rng.IntN(4) == 0 {
			n.AttachedVolumes = []string{pick(rng, "volume-0", "volume-1", "volume-9")}
		}
	}
	for _, class := range c.Classes {
		if rng.IntN(3) == 0 {
			class.CSINode = randomCSINode(rng)
		}
	}
	claimed := func(p *api.Pod) {
		if rng.IntN(3) > 0 {
			return
		}
		own := *p.Template
		own.Spec.Volumes = randomPodVolumes(rng)
		p.Template, p.TemplateIndex = &own, -1
	}
	for i := range c.Nodes {
		for j := range c.Nodes[i].Pods {
			claimed(&c.Nodes[i].Pods[j])
		}
	}
	for i := range pods {
		claimed(&pods[i])
	}
}

func randomCSINode(rng *rand.Rand) *api.CSINode {
	return pick(rng, &api.CSINode{}, &api.CSINode{
		Drivers:         []api.CSINodeDriver{{Name: disksDriver, AllocatableCount: pick(rng, nil, new(int32(1)), new(int32(2)))}, {Name: filesDriver}},
		MigratedPlugins: pick(rng, nil, []string{"kubernetes.io/example-disk"}),
	})
}

func randomVolume(rng *rand.Rand, name string, nodes int) api.PersistentVolume {
	v := api.PersistentVolume{
		Name: name, StorageClassName: pick(rng, "delayed", "immediate", "local", "local"), Capacity: int64(1+rng.IntN(4)) << 30,
		AccessModes: randomModes(rng), Available: rng.IntN(4) > 0, Terminating: rng.IntN(8) == 0,
		Labels:    pick(rng, nil, api.LabelsOf(map[string]string{zoneKey: "a"}), api.LabelsOf(map[string]string{zoneKey: "a__b", "tier": "fast"})),
		CSIDriver: pick(rng, "", disksDriver), VolumeHandle: "handle-" + name,
		VolumeMode: pick(rng, api.DefaultVolumeMode, api.Filesystem, api.Block), VolumeAttributesClassName: pick(rng, "", "", "gold"),
	}
	if rng.IntN(3) == 0 {
		v.Claim = &api.ClaimReference{Namespace: "default", Name: fmt.Sprint("data-", rng.IntN(8)), UID: pick(rng, "", "uid", "other")}
	}
	on := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: requirements("kubernetes.io/hostname", fmt.Sprint("n", rng.IntN(max(1, nodes))))}}}
	v.NodeAffinity = pick(rng, nil, on, &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: requirements(zoneKey, pick(rng, "a", "b"))}}})
	if v.CSIDriver != "" && rng.IntN(3) == 0 {
		v.InTreePlugin = "kubernetes.io/example-disk"
		v.MigratedNodeAffinity = pick(rng, nil, &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: requirements(zoneKey, "b")}}})
	}
	return v
}

func randomModes(rng *rand.Rand) api.AccessModes {
	return api.AccessModes{
		ReadWriteOnce: rng.IntN(2) == 0, ReadOnlyMany: rng.IntN(3) == 0, ReadWriteMany: rng.IntN(3) == 0, ReadWriteOncePod: rng.IntN(4) == 0,
	}
}

func randomClaim(rng *rand.Rand, name string) api.PersistentVolumeClaim {
	c := api.PersistentVolumeClaim{
		Namespace: "default", Name: name, UID: pick(rng, "", "uid"), Spec: *randomClaimSpec(rng),
		Lost: rng.IntN(20) == 0, Terminating: rng.IntN(20) == 0, ControllerPod: pick(rng, "", "p0", "p1"),
	}
	switch rng.IntN(4) {
	case 0:
		c.VolumeName, c.BindCompleted = fmt.Sprint("volume-", rng.IntN(9)), rng.IntN(6) > 0
	case 1:
		c.SelectedNode = pick(rng, "", "n0", "gone")
	}
	return c
}

func randomClaimSpec(rng *rand.Rand) *api.ClaimSpec {
	s := &api.ClaimSpec{
		StorageClassName: pick(rng, "delayed", "delayed", "delayed", "local", "local", "local", "zonal", pick(rng, "immediate", "modeless", "none", "")),
		AccessModes:      api.AccessModes{ReadWriteOnce: rng.IntN(2) == 0, ReadWriteOncePod: rng.IntN(4) == 0},
		VolumeMode:       pick(rng, api.DefaultVolumeMode, api.DefaultVolumeMode, api.Block),
		Selector:         pick(rng, nil, nil, Selects("tier", "fast")), VolumeAttributesClassName: pick(rng, "", "", "", "gold"),
	}
	if rng.IntN(6) > 0 {
		s.StorageRequest = new(int64(1+rng.IntN(3)) << 30)
	}
	return s
}

// randomClaimTemplate returns the spec of a claim that does not exist. Its class is not one of claims that are bound when they are created.
func randomClaimTemplate(rng *rand.Rand) *api.ClaimSpec {
	s := randomClaimSpec(rng)
	if s.StorageClassName == "immediate" {
		s.StorageClassName = "delayed"
	}
	return s
}

func randomPodVolumes(rng *rand.Rand) []api.PodVolume {
	var out []api.PodVolume
	for range 1 + rng.IntN(2) {
		switch rng.IntN(6) {
		case 0:
			out = append(out, api.PodVolume{Disk: api.Disk{
				Kind: pick(rng, api.OtherDisk, api.GCEPersistentDisk, api.AWSElasticBlockStore, api.ISCSI, api.RBD), ID: pick(rng, "x", "y"),
				Monitors: pick(rng, nil, []string{"m1"}, []string{"m1", "m2"}), ReadOnly: rng.IntN(2) == 0, CSIDriver: pick(rng, "", disksDriver),
				VolumeHandle: pick(rng, "handle-volume-0", "x"),
			}})
		case 1:
			out = append(out, api.PodVolume{Claim: &api.PodClaim{Name: "scratch", Ephemeral: true, Template: pick(rng, nil, randomClaimTemplate(rng))}})
		case 2:
			out = append(out, api.PodVolume{Claim: &api.PodClaim{Name: "data", OfPod: true, Template: randomClaimTemplate(rng)}})
		default:
			out = append(out, api.PodVolume{Claim: &api.PodClaim{Name: fmt.Sprint("data-", rng.IntN(9))}})
		}
	}
	return out
}
