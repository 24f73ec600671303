// Package nodevolumelimits rejects nodes to which a CSI driver cannot attach the volumes of the pod
// (pkg/scheduler/framework/plugins/nodevolumelimits, v1.37).
package nodevolumelimits

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodeVolumeLimits.
var Plugin = &plugin.Plugin{
	Name:    verdict.NodeVolumeLimits,
	Compile: compile,
	Waits:   waits,
	Explain: explain,
}

// waits returns a predicate for the pods whose departure may help: pods with volumes (csi.go isSchedulableAfterPodDeleted, v1.37).
func waits(*plugin.Cycle) func(*plugin.Event) bool {
	return func(e *plugin.Event) bool {
		return e.Left && slices.ContainsFunc(e.Volumes, func(v cluster.Volume) bool { return v.Of != nil || v.Disk.CSIDriver != "" })
	}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	byDriver := make(map[string][]cluster.Attachment)
	var drivers []string
	for i := range c.Pod.Volumes {
		if rejected := unusable(c, &c.Pod.Volumes[i]); rejected != nil {
			s.Static = append(s.Static, *rejected)
			return
		}
	}
	for _, a := range c.State.AttachmentsOf(c.Pod.Volumes) {
		if byDriver[a.Driver] == nil {
			drivers = append(drivers, a.Driver)
		}
		byDriver[a.Driver] = append(byDriver[a.Driver], a)
	}
	slices.Sort(drivers) // kube-scheduler checks them in the order of a map
	for _, driver := range drivers {
		if of := c.State.Storage().Driver(driver); of != nil && of.PreventPodSchedulingIfMissing {
			everyNode := slices.ContainsFunc(byDriver[driver], func(a cluster.Attachment) bool { return !a.Migrated })
			lacking := c.State.WithCSINode(func(n *api.CSINode) bool { return n.Driver(driver) == nil && (n != nil || everyNode) })
			if !lacking.Empty() {
				s.Static = append(s.Static, static(verdict.Unschedulable, lacking, verdict.DriverMissing(driver)))
			}
		}
	}
	for _, driver := range drivers {
		if attached := c.State.AttachedBy(driver); attached.Limits() != nil {
			s.Others = append(s.Others, newLimit(c.State, driver, byDriver[driver], attached))
		}
	}
}

// unusable returns the rule of a claim that is missing, or that belongs to another object; nil if the claim can be used. Other plugins
// reject the pod before, unless they are disabled.
func unusable(c *plugin.Cycle, v *cluster.Volume) *rule.Static {
	if v.Of == nil {
		return nil
	}
	code := verdict.UnschedulableAndUnresolvable
	var reason verdict.Reason
	claim, found := c.State.FindClaim(v)
	switch of := claim.Object; {
	case !found:
		name := v.Claim.Namespace + "/" + v.Claim.Name
		reason = verdict.Claim(fmt.Sprintf("looking up PVC %s: persistentvolumeclaim %q not found", name, v.Claim.Name))
	case v.Of.Ephemeral && of != nil && of.ControllerPod != c.Pod.Name:
		code, reason = verdict.Error, verdict.NotOwner(of.Namespace, of.Name, c.Pod.Name)
	default:
		return nil
	}
	r := static(code, nodeset.Full(c.State.Len()), reason)
	return &r
}

func static(code verdict.Code, rejected nodeset.Set, reason verdict.Reason) rule.Static {
	return rule.Static{ID: verdict.PodRule{Plugin: verdict.NodeVolumeLimits}, Code: code, Reason: reason, Rejected: rejected}
}

// explain lists the candidates to which a driver cannot attach the pod's volumes.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	for _, k := range x.Rules.Others {
		r := k.(*limit)
		for node := range plugin.Both(x.Candidates, r.Rejected()).All() {
			if len(x.AttachShortages) == verdict.MaxDetails || !c.State.Explain(verdict.EntryCost) {
				return
			}
			x.AttachShortages = append(x.AttachShortages, verdict.AttachShortage{
				Node: node, Driver: r.driver, Attached: r.before[node], Adds: r.adds(node), Limit: r.limits[node],
			})
		}
	}
}
