package engine

import (
	"context"
	"runtime"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/provision"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// NodeTemplate is nodes that Provision may add.
type NodeTemplate = provision.Template

// ProvisionOptions are the arguments of Provision in addition to the queue.
type ProvisionOptions struct {
	Profile *api.Profile
	// Candidates are the nodes of the cluster that pods may be placed on, as in PlaceOptions. All new nodes are candidates.
	Candidates []uint32
	// Seed and Groups are as in PlaceOptions. Groups count as not joint.
	Seed   uint64
	Groups []PodGroup
	// Templates have distinct names, and prices whose sum over MaxNodes nodes is an int64. At least one.
	Templates []NodeTemplate
	// MaxNodes bounds the new nodes. Steps bounds the search; 0 for a budget by the size of the question.
	MaxNodes, Steps int
	// Domains has topology spread count the domains of all templates, including templates without nodes, which kube-scheduler does not
	// know.
	Domains bool
	// Scheduler orders the queue as kube-scheduler's, by priority. Nothing is evicted.
	Scheduler bool

	workers int // replaces the number of cores unless 0
}

// MaxProvisionWorkers bounds the memory of Provision: each worker has a cluster of its own.
const MaxProvisionWorkers = 4

// Memory that Provision keeps in addition to its copies of the cluster, in bytes.
const (
	newNodeBytes  = 512 // of a new node, with its name and its place in columns
	newDeviceSize = 512 // of a device of a new node
	newPodBytes   = 64  // of a pod that comes with a new node
	placementSize = 256 // of an entry of the queue in a trial
	placedPodSize = 8   // of a pod of the queue in a trial, in a list that grows
)

// ProvisionBytes estimates the memory of Provision: clusters with new nodes and the pods that come with them, one of each worker,
// and how the queue is placed in each trial that is kept.
func (c *Cluster) ProvisionBytes(queue []Pending, o *ProvisionOptions) int64 {
	added := newNodesBytes(o.Templates, o.MaxNodes)
	trial := int64(placementSize * len(queue))
	for i := range queue {
		trial += placedPodSize * int64(queue[i].Count)
	}
	return MaxProvisionWorkers*(c.CopiedByChange(0, true, false)+added) + provision.MaxTrials*trial
}

// newNodesBytes estimates the memory of new nodes of templates in a cluster.
func newNodesBytes(templates []NodeTemplate, nodes int) int64 {
	pods, devices := 0, 0
	for i := range templates {
		n := &templates[i].Node
		pods = max(pods, len(n.Pods)+len(n.PodCounts))
		of := 0
		for j := range templates[i].Slices {
			of += 1 + len(templates[i].Slices[j].Devices)
		}
		devices = max(devices, of)
	}
	return int64(nodes) * int64(newNodeBytes+newPodBytes*pods+newDeviceSize*devices)
}

// Provision finds nodes to add for the pods of a queue. It places as many pods as possible at the lowest cost. The result is the
// same as from Place, with the queue in order or by priority, on the cluster with the new nodes. New nodes come after the others, by
// template and then by number. Pods without a node are attempted again as long as another one gets placed.
func (c *Cluster) Provision(ctx context.Context, queue []Pending, o ProvisionOptions) (*verdict.Provision, error) {
	groups := inOrder(c.grouped(queue, o.Groups))
	if o.Scheduler {
		return c.provisionByPriority(ctx, queue, o, gang.AsScheduler(groups))
	}
	return c.provision(ctx, queue, o, groups)
}

// undecided returns whether a pod demands devices, if there is a search for devices that was not decided.
func (c *Cluster) undecided(search bool) doubt.Undecided {
	if !search {
		return nil
	}
	return c.compiled.Demands
}

// provision is Provision with the queue in order.
func (c *Cluster) provision(ctx context.Context, queue []Pending, o ProvisionOptions, groups []PodGroup) (*verdict.Provision, error) {
	p := &provision.Problem{
		Cluster: c.compiled, Framework: c.framework(o.Profile), Profile: o.Profile, Candidates: c.candidates(o.Candidates),
		Queue: queue, Groups: groups, Seed: o.Seed, Templates: o.Templates, MaxNodes: o.MaxNodes, Steps: o.Steps,
		Domains: o.Domains, Workers: o.workers,
	}
	if p.Workers == 0 {
		p.Workers = min(MaxProvisionWorkers, runtime.GOMAXPROCS(0))
	}
	out, err := provision.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Place.Doubts = doubt.OfQueue(o.Profile, queue, groups, c.undecided(out.Undecided))
	out.Optimal = out.Optimal && len(out.Place.Doubts) == 0
	return out, nil
}
