// Package volumezone rejects nodes that are not in the zone or region that the labels of the pod's volumes state
// (pkg/scheduler/framework/plugins/volumezone, v1.37).
package volumezone

import (
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is VolumeZone.
var Plugin = &plugin.Plugin{
	Name:      verdict.VolumeZone,
	PreFilter: preFilter,
	Compile:   compile,
	Explain:   explain,
	// No event about a pod on a node makes kube-scheduler try again.
	Waits: func(*plugin.Cycle) func(*plugin.Event) bool { return func(*plugin.Event) bool { return false } },
}

// keys are the labels of zones and regions, and the label that a node may have instead.
var keys = [...]struct{ key, instead string }{
	{"failure-domain.beta.kubernetes.io/zone", zone},
	{"failure-domain.beta.kubernetes.io/region", region},
	{zone, zone},
	{region, region},
}

const (
	zone   = "topology.kubernetes.io/zone"
	region = "topology.kubernetes.io/region"
)

// volumeOf is the volume of a claim.
type volumeOf struct {
	*api.PersistentVolume
	claim cluster.ClaimName
}

// volumesOf returns the volumes of the pod's claims, or why the pod is rejected (volume_zone.go getPVbyPod, v1.37). Claims of ephemeral
// volumes, and claims that wait for the pod's node, do not count.
func volumesOf(c *plugin.Cycle) (volumes []volumeOf, rejected string) {
	storage := c.State.Storage()
	for i := range c.Pod.Volumes {
		v := &c.Pod.Volumes[i]
		if v.Of == nil || v.Of.Ephemeral {
			continue
		}
		claim, found := c.State.FindClaim(v)
		if !found {
			return nil, fmt.Sprintf("persistentvolumeclaim %q not found", v.Claim.Name)
		}
		if claim.Object != nil && claim.Object.VolumeName != "" {
			of := storage.Volume(claim.Object.VolumeName)
			if of == nil {
				return nil, fmt.Sprintf("persistentvolume %q not found", claim.Object.VolumeName)
			}
			volumes = append(volumes, volumeOf{of, v.Claim})
			continue
		}
		name := claim.Spec.StorageClassName
		class := storage.Class(name)
		switch {
		case name == "" && claim.Object == nil: // it does not exist yet
		case name == "":
			return nil, "PersistentVolumeClaim had no pv name and storageClass name"
		case class == nil:
			return nil, fmt.Sprintf("storageclass.storage.k8s.io %q not found", name)
		case class.VolumeBindingMode == api.NoBindingMode:
			return nil, fmt.Sprintf("VolumeBindingMode not set for StorageClass %q", name)
		case class.VolumeBindingMode == api.BindImmediately && claim.Object != nil:
			return nil, "PersistentVolume had no name"
		}
	}
	return volumes, ""
}

func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	if _, rejected := volumesOf(c); rejected != "" {
		return plugin.PreFilterResult{Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.Claim(rejected)}
	}
	return plugin.PreFilterResult{}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if len(c.Pod.Volumes) == 0 {
		return
	}
	volumes, _ := volumesOf(c)
	var rejected nodeset.Set
	for _, v := range volumes {
		switch elsewhere := beyond(c, v.PersistentVolume); {
		case elsewhere == nil:
		case rejected == nil:
			rejected = elsewhere
		default:
			rejected.Or(elsewhere)
		}
	}
	if rejected != nil && !rejected.Empty() {
		s.Static = append(s.Static, rule.Static{
			ID:       verdict.PodRule{Plugin: verdict.VolumeZone},
			Code:     verdict.UnschedulableAndUnresolvable,
			Reason:   verdict.ReasonOf(verdict.ReasonVolumeZone),
			Rejected: rejected,
		})
	}
}

// beyond returns the nodes that are not in a zone or region of a volume; nil if it states none. Nodes without any label of a zone or
// region may use every volume.
func beyond(c *plugin.Cycle, v *api.PersistentVolume) (nodes nodeset.Set) {
	for _, k := range keys {
		value, has := v.Labels.Get(k.key)
		if !has {
			continue
		}
		if values := zones(value); values != nil {
			if nodes == nil {
				nodes = nodeset.New(c.State.Len())
			}
			nodes.Or(c.Without(inZones(c, k.key, k.instead, values)))
		}
	}
	if nodes != nil {
		nodes.And(located(c))
	}
	return nodes
}

// explain lists the candidates that are not in the zone or region of the volume of each claim.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	volumes, _ := volumesOf(c)
	for _, v := range volumes {
		elsewhere := beyond(c, v.PersistentVolume)
		if elsewhere == nil {
			continue
		}
		nodes := plugin.Both(x.Candidates, elsewhere).Indexes()
		if len(nodes) > 0 && c.State.Explain(verdict.EntryCost+len(nodes)) {
			x.ClaimConflicts = append(x.ClaimConflicts, verdict.ClaimConflict{
				Namespace: v.claim.Namespace, Name: v.claim.Name, Class: v.StorageClassName, Volume: v.Name,
				Reason: verdict.ReasonVolumeZone, Nodes: nodes,
			})
		}
	}
}

// zones returns the values of a label, such as a and b of "a__b"; nil if one is empty, as the label is ignored then.
func zones(label string) map[string]bool {
	values := make(map[string]bool)
	for value := range strings.SplitSeq(label, "__") {
		if value = strings.TrimSpace(value); value == "" {
			return nil
		}
		values[value] = true
	}
	return values
}

// located returns the nodes that have any label of a zone or region. All others may use every volume.
func located(c *plugin.Cycle) nodeset.Set {
	nodes := nodeset.New(c.State.Len())
	for _, k := range keys {
		nodes.Or(c.State.Column(c.State.Symbols.Intern(k.key)).Having)
	}
	return nodes
}

// inZones returns the nodes whose label has one of the values. A node without the label is in the zone that another one states.
func inZones(c *plugin.Cycle, key, instead string, values map[string]bool) nodeset.Set {
	having := func(key string) (nodes, labelled nodeset.Set) {
		column := c.State.Column(c.State.Symbols.Intern(key))
		table := make([]uint8, column.Len())
		for d, v := range column.Values {
			if d != 0 && values[c.State.Symbols.Name(v)] {
				table[d] = 1
			}
		}
		return column.Where(table), column.Having
	}
	nodes, labelled := having(key)
	if instead == key {
		return nodes
	}
	others, _ := having(instead)
	others = others.Minus(labelled)
	others.Or(nodes)
	return others
}
