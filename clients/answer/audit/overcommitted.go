package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/review"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumShortages is the maximum number of shortages in an explanation.
const maximumShortages = 1000

// The names of the resources that have fields of their own.
const (
	cpu     = "cpu"
	memory  = "memory"
	storage = "ephemeral-storage"
)

// overcommitted finds the nodes whose pods request more than the node has. It evaluates a pod that requests one unit of a resource:
// the response has all nodes without a free unit, with kube-scheduler's sums.
func (a *audit) overcommitted(ctx context.Context) error {
	nodes := a.requesting()
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if err := a.shortages(ctx, name, nodes[name]); err != nil {
			return err
		}
	}
	return nil
}

// requesting returns the nodes with pods that request a resource, by its name. For cpu these are all nodes.
func (a *audit) requesting() map[string][]uint32 {
	byTemplate := make([]map[string]bool, len(a.cluster.PodTemplates))
	for i, t := range a.cluster.PodTemplates {
		byTemplate[i] = requested(t.GetSpec())
	}
	out := map[string][]uint32{}
	for i, n := range a.cluster.Nodes {
		names := map[string]bool{cpu: true}
		for _, p := range n.Pods {
			if p.GetTemplate() != nil {
				maps.Copy(names, requested(p.GetTemplate().GetSpec()))
			} else {
				maps.Copy(names, byTemplate[p.GetTemplateIndex()])
			}
		}
		for name := range names {
			out[name] = append(out[name], uint32(i))
		}
	}
	return out
}

// requested returns the names of the resources that a pod requests.
func requested(s *stowagev1.PodSpec) map[string]bool {
	out := map[string]bool{}
	add := func(r *stowagev1.Resources) {
		out[memory] = out[memory] || r.GetMemoryBytes() > 0
		out[storage] = out[storage] || r.GetEphemeralStorageBytes() > 0
		for name := range r.GetScalars() {
			out[name] = true
		}
	}
	add(s.GetRequests())
	add(s.GetOverhead())
	for _, c := range slices.Concat(s.GetInitContainers(), s.GetContainers()) {
		add(c.GetRequests())
	}
	maps.DeleteFunc(out, func(_ string, requests bool) bool { return !requests })
	return out
}

// shortages adds the shortages of one resource on some nodes. It halves the nodes until a response has room for them.
func (a *audit) shortages(ctx context.Context, name string, nodes []uint32) error {
	if len(nodes) == 0 {
		return nil
	}
	request := &stowagev1.FilterRequest{
		Context: a.context(nil), Explain: true, CandidateNodes: &stowagev1.CandidateNodes{Indexes: nodes}, Pod: probe(name),
	}
	response, err := a.Client.Filter(ctx, request)
	if err != nil {
		return answer.Refused(request, err)
	}
	all := response.GetExplanation().GetResourceShortages()
	if half := len(nodes) / 2; len(all) >= maximumShortages && half > 0 {
		if err := a.shortages(ctx, name, nodes[:half]); err != nil {
			return err
		}
		return a.shortages(ctx, name, nodes[half:])
	}
	for _, s := range all {
		counts := s.GetResource() == name || s.GetResource() == "pods" && name == cpu // every response has the number of pods
		if !counts || s.GetUsed() <= s.GetAllocatable() {
			continue
		}
		n := a.cluster.Nodes[s.GetNodeIndex()]
		a.found = append(a.found, review.Finding{
			Severity: review.Broken, Rule: Overcommitted, Object: review.Object{Kind: "Node", Name: n.Name},
			Field: "status.allocatable[" + s.GetResource() + "]", Nodes: []string{n.Name},
			Message: fmt.Sprintf("its pods request %s of %s, and it has %s",
				words.Quantity(s.GetResource(), s.GetUsed()), s.GetResource(),
				words.Quantity(s.GetResource(), s.GetAllocatable())),
		})
	}
	return nil
}

// probe is a pod that requests the smallest amount of a resource.
func probe(name string) *stowagev1.Pod {
	r := &stowagev1.Resources{}
	switch name {
	case cpu:
		r.CpuMillis = new(int64(1))
	case memory:
		r.MemoryBytes = new(int64(1))
	case storage:
		r.EphemeralStorageBytes = new(int64(1))
	default:
		r.Scalars = map[string]int64{name: 1}
	}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{Requests: r}},
	}}}}
}
