package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of WhatIfRequest.scenarios, and of Scenario.delta and Scenario.queue.
const (
	scenariosField     = 2
	scenarioDeltaField = 2
	scenarioQueueField = 8
)

// ReadWhatIf decodes a WhatIfRequest except for its cluster and its scenarios. These stay encoded until each has its turn:
// decoded they take many times the memory.
func ReadWhatIf(request []byte, into *stowagev1.WhatIfRequest) (*RequestPods, error) {
	a := &RequestPods{}
	rest, err := splitField(request, scenariosField, func(scenario []byte) error {
		if len(a.scenarios) <= MaxScenarios { // WhatIf refuses one more
			a.scenarios = append(a.scenarios, scenario)
			a.deltas = a.deltas || has(scenario, scenarioDeltaField)
		}
		return nil
	})
	if err == nil {
		err = Unmarshal(rest, into)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// has reports whether a message has a field, as far as it is well-formed.
func has(message []byte, field protowire.Number) bool {
	for len(message) > 0 {
		found, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return false
		}
		if found == field {
			return true
		}
		message = message[n:]
	}
	return false
}

// Deltas reports whether a request has deltas that its scenarios apply to the cluster.
func (a *RequestPods) Deltas() bool { return a != nil && a.deltas }

// WhatIfCall is a WhatIfRequest in the engine's values. Its scenarios are encoded.
type WhatIfCall struct {
	Options   engine.WhatIfOptions
	Unordered bool
	scenarios [][]byte
}

// WhatIf decodes a WhatIfRequest except for its cluster and its scenarios.
func (r *Request) WhatIf(in *stowagev1.WhatIfRequest) WhatIfCall {
	call := WhatIfCall{Unordered: in.GetUnordered()}
	if r.question != nil {
		call.scenarios = r.question.scenarios
	}
	r.within(nil, "scenarios", len(call.scenarios), MaxScenarios)
	call.Options = engine.WhatIfOptions{
		Profile: r.profile(in.GetContext().GetProfile()), Seed: in.GetTieBreakSeed(),
		FewestPods: r.fewestPods(in.GetTieBreak()), Scheduler: r.scheduler(in.GetQueueMode()),
	}
	return call
}

// Len returns the number of scenarios.
func (c *WhatIfCall) Len() int { return len(c.scenarios) }

// Bytes returns the size of the scenarios.
func (c *WhatIfCall) Bytes() (n int) {
	for i := range c.scenarios {
		n += c.ScenarioBytes(i)
	}
	return n
}

// ScenarioBytes returns the size of the i-th scenario.
func (c *WhatIfCall) ScenarioBytes(i int) int { return len(c.scenarios[i]) }

// StatedScenario is a scenario as a message. The message has only those fields of its pods that responses repeat.
type StatedScenario struct {
	*stowagev1.Scenario
	index     int
	pods      [][]byte // encoded, of the queue
	scheduler bool
}

// Scenario reads the i-th scenario.
func (c *WhatIfCall) Scenario(i int) (*StatedScenario, error) {
	s := &StatedScenario{Scenario: new(stowagev1.Scenario), index: i, scheduler: c.Options.Scheduler}
	var q queue
	rest, err := splitField(c.scenarios[i], scenarioQueueField, q.add)
	if err == nil {
		err = Unmarshal(rest, s.Scenario)
	}
	if err != nil {
		if _, ok := errors.AsType[*Error](err); !ok {
			err = Refuse("", malformed, "is no protobuf message")
		}
		return nil, s.withPath(err)
	}
	s.Queue, s.pods = q.all, q.pods
	return s, nil
}

// withPath prefixes the paths of an error with the path of the scenario.
func (s *StatedScenario) withPath(err error) error {
	if invalid, ok := errors.AsType[*Error](err); ok {
		return invalid.Within(fmt.Sprintf("scenarios[%d]", s.index))
	}
	return err
}

// Check decodes the scenario with its cluster. It compiles the cluster with the scenario's delta only if the rest of the scenario
// refers to nodes.
func (s *StatedScenario) Check(ctx context.Context, c *Snapshot) error {
	r := On(ctx, c)
	r.uncompiled = len(s.GetCordonedNodes())+len(s.GetEvictions())+len(s.GetRemovedNodes()) == 0
	r.scenario(s)
	return s.withPath(r.Err())
}

// On decodes the scenario with its cluster. It also returns the cluster with the scenario's delta, which the result refers to.
func (s *StatedScenario) On(ctx context.Context, c *Snapshot) (*Snapshot, *engine.Scenario, error) {
	r := On(ctx, c)
	out := r.scenario(s)
	if err := r.Err(); err != nil {
		return nil, nil, s.withPath(err)
	}
	return r.base, out, nil
}

func (r *Request) scenario(in *StatedScenario) *engine.Scenario {
	r.length(path{name: "name"}, in.GetName(), MaxNameBytes)
	if r.Delta("delta", in.GetDelta()); r.Err() != nil {
		return nil // the rest refers to the cluster with the delta
	}
	out := &engine.Scenario{
		Cordoned:  r.nodesCalled("cordoned_nodes", in.GetCordonedNodes()),
		Evictions: r.evictions(in.GetEvictions()),
		Removed:   r.nodesCalled("removed_nodes", in.GetRemovedNodes()),
		Requeue:   in.GetRequeueEvicted(),
		Queue:     r.queue(in.GetQueue(), in.pods),
		Stop:      in.GetStopAtFirstUnplaced(),
	}
	out.Groups = r.podGroups(in.GetPodGroups(), in.GetQueue(), out.Queue)
	out.Terminating = r.terminating(in.GetEvictedPods())
	slices.Sort(out.Removed)
	if in.scheduler {
		const only = "is only allowed with QUEUE_MODE_IN_ORDER"
		r.scheduledGroups(in.GetPodGroups())
		if out.Stop {
			r.refuse(path{name: "stop_at_first_unplaced"}, notAllowed, only)
		}
	}
	if r.Err() != nil {
		return nil
	}
	all, err := r.base.Returning(r.ctx, out)
	if err != nil {
		r.ended = err
		return nil
	}
	for i := range out.Queue {
		all += int64(out.Queue[i].Count)
	}
	if all > MaxQueuePods {
		r.refuse(path{name: "requeue_evicted"}, wrongCount, "leads to %d pods to place, at most %d are allowed", all, MaxQueuePods)
	}
	return out
}

// endedAt reports whether to skip the i-th item of a list. Now and then it polls the context.
func (r *Request) endedAt(i int) bool {
	if i%1024 == 0 && r.ended == nil {
		r.ended = r.ctx.Err()
	}
	return r.over()
}

// node returns the index of the node with a name.
func (r *Request) node(at path, name string) (uint32, bool) {
	if !r.require(name != "", at) {
		return 0, false
	}
	r.length(at, name, MaxNameBytes)
	n, ok := r.base.Node(name)
	if !ok {
		r.refuse(at, notFound, "no node is called %s", quote(name))
	}
	return n, ok
}

// nodesCalled returns the indexes of nodes that are listed by name, each once.
func (r *Request) nodesCalled(field string, names []string) []uint32 {
	var root *path
	if !r.within(root, field, len(names), MaxNodes) || len(names) == 0 {
		return nil
	}
	out := make([]uint32, 0, len(names))
	seen := make(identities[uint32], len(names))
	for i, name := range names {
		if r.endedAt(i) {
			break
		}
		at := root.item(field, i)
		n, ok := r.node(at, name)
		if !ok {
			continue
		}
		if first, again := seen.add(n, i); again {
			r.refuse(at, duplicate, "duplicates %s[%d]", field, first)
			continue
		}
		out = append(out, n)
	}
	return out
}

func (r *Request) evictions(in []*stowagev1.NodeEvictions) []engine.NodeEvictions {
	var root *path
	const field = "evictions"
	if !r.within(root, field, len(in), MaxNodes) || len(in) == 0 {
		return nil
	}
	out := make([]engine.NodeEvictions, 0, len(in))
	seen := make(identities[uint32], len(in))
	for i, e := range in {
		if r.endedAt(i) {
			break
		}
		at := root.item(field, i)
		n, ok := r.node(at.field("node_name"), e.GetNodeName())
		if !ok {
			continue
		}
		if first, again := seen.add(n, i); again {
			r.refuse(at.field("node_name"), duplicate, "duplicates evictions[%d]", first)
			continue
		}
		out = append(out, r.nodeEvictions(&at, n, e))
	}
	return out
}

func (r *Request) nodeEvictions(at *path, node uint32, in *stowagev1.NodeEvictions) engine.NodeEvictions {
	out := engine.NodeEvictions{Node: node, Drained: in.GetDrained()}
	const limit = MaxEvictions
	if out.Drained {
		if len(in.GetPods()) > 0 {
			r.refuse(at.field("pods"), notAllowed, "must be empty with drained")
		}
		if len(in.GetPodCounts()) > 0 {
			r.refuse(at.field("pod_counts"), notAllowed, "must be empty with drained")
		}
		return out
	}
	if r.within(at, "pods", len(in.GetPods()), limit) {
		out.Named = r.namedPods(at, node, in.GetPods())
	}
	if r.within(at, "pod_counts", len(in.GetPodCounts()), limit) {
		out.Counted = r.countedPods(at, node, in.GetPodCounts())
	}
	return out
}

// namedPods returns the positions of pods of a node. Of pods with the same name the first in canonical order is evicted, then the
// next.
func (r *Request) namedPods(at *path, node uint32, in []*stowagev1.NamespacedName) []int {
	const field = "pods"
	wanted := make(map[[2]string][]int, len(in))
	for i, p := range in {
		if r.endedAt(i) {
			return nil
		}
		at := at.item(field, i)
		r.length(at.field("namespace"), p.GetNamespace(), MaxNamespaceBytes)
		r.name(&at, "name", p.GetName(), MaxNameBytes)
		name := [2]string{cmp.Or(p.GetNamespace(), "default"), p.GetName()}
		wanted[name] = append(wanted[name], i)
	}
	out, position := slices.Repeat([]int{-1}, len(in)), 0
	for namespace, name := range r.base.NamedPods(node) {
		if of := wanted[[2]string{namespace, name}]; len(of) > 0 {
			out[of[0]], wanted[[2]string{namespace, name}] = position, of[1:]
		}
		position++
	}
	for i, found := range out {
		if found < 0 && in[i].GetName() != "" {
			r.refuse(at.item(field, i), notFound, "pod not found on the node")
		}
	}
	return out
}

func (r *Request) countedPods(at *path, node uint32, in []*stowagev1.PodCount) []api.PodCount {
	const field = "pod_counts"
	var out []api.PodCount
	type pods struct {
		template    uint32
		terminating bool
		readiness   api.Readiness
	}
	if len(in) == 0 {
		return nil
	}
	counted := r.base.CountedPods(node)
	left := make(map[pods]int64, len(in))
	for i, c := range in {
		if r.endedAt(i) {
			break
		}
		at := at.item(field, i)
		known := int(c.GetTemplateIndex()) < len(r.templates)
		r.reporter().wrongCount(at, uint64(c.GetTemplateIndex()), uint64(c.GetCount()))
		if !known {
			continue
		}
		id := pods{template: c.GetTemplateIndex(), terminating: c.GetTerminating()}
		if c.GetReadiness() != 0 {
			id.readiness = r.reporter().readinessOf(&at, int32(c.GetReadiness()))
		}
		same := api.PodCount{Template: int(id.template), Terminating: id.terminating, Readiness: id.readiness}
		if id.terminating {
			id.readiness = 0
		}
		if _, again := left[id]; !again {
			left[id] = int64(counted(same))
		}
		if int64(c.GetCount()) > left[id] {
			r.refuse(at.field("count"), outOfRange, "is %d, the node has only %d of these pods", c.GetCount(), left[id])
			continue
		}
		left[id] -= int64(c.GetCount())
		same.Count = int32(c.GetCount())
		out = append(out, same)
	}
	return out
}
