package main

import (
	"cmp"
	"slices"
	"strconv"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// mend changes a drawn request so that it is not refused for fields that depend on each other. spoil undoes this in some requests.
func mend(request proto.Message) {
	for m := range messages(request.ProtoReflect()) {
		if m.Descriptor().ParentFile().Path() == stowagev1.File_stowage_v1_device_proto.Path() {
			mendDevices(m)
		}
		switch m := m.Interface().(type) {
		case *stowagev1.Cluster:
			mendCluster(m)
		case *stowagev1.FilterRequest:
			mendPending(m.Pod)
		case *stowagev1.ScoreRequest:
			mendPending(m.Pod)
		case *stowagev1.PreemptRequest:
			mendPending(m.Pod)
		case *stowagev1.ScaleDownRequest:
			mendPending(m.Pod)
		case *stowagev1.PendingPods:
			mendPending(m.Pod)
		case *stowagev1.FitPod:
			mendPending(m.Pod)
		case *stowagev1.PlaceRequest:
			mendGroups(m.Queue, &m.PodGroups, m.QueueMode != stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER)
		case *stowagev1.ProvisionRequest:
			m.MaxSteps = proto.Uint32(1 + 100*min(m.GetMaxSteps(), 3)) // of thousands that are tried else
			mendGroups(m.Queue, &m.PodGroups, false)
		case *stowagev1.Scenario:
			mendGroups(m.Queue, &m.PodGroups, false)
			mendEvictions(m.Evictions)
		case *stowagev1.DrainRequest:
			if m.Mode != stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET {
				m.MaxSteps = nil
			}
		case *stowagev1.NodeTemplate:
			if m.Node != nil {
				mendNode(m.Node)
				m.Node.NominatedPods = nil
			}
		case *stowagev1.Container:
			withoutPods(m.Requests)
		case *stowagev1.ContainerResourceStatus:
			withoutPods(m.Allocated, m.Actuated)
		case *stowagev1.PodResourceStatus:
			withoutPods(m.Allocated, m.Actuated)
		case *stowagev1.PodSpec:
			withoutPods(m.Requests, m.Overhead)
			mendSpread(m)
		case *stowagev1.Toleration:
			if m.Key == "" || m.Operator > stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS {
				m.Operator = stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS
			}
			if m.Operator == stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS {
				m.Value = ""
			}
		case *stowagev1.PersistentVolumeClaimVolumeSource:
			m.ClaimName = cmp.Or(m.ClaimName, "data")
		case *stowagev1.EphemeralVolumeSource:
			m.VolumeName = cmp.Or(m.VolumeName, "scratch")
		case *stowagev1.CSINodeDriver:
			m.Name = cmp.Or(m.Name, "disk.example")
		case *stowagev1.LabelSelectorRequirement:
			m.Values = mended(m.Values, m.Operator <= stowagev1.LabelSelectorOperator_LABEL_SELECTOR_OPERATOR_NOT_IN, false)
		case *stowagev1.NodeSelectorTerm:
			mendTerm(m)
		case *stowagev1.WorkloadSelector:
			if m.Kind <= stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER && m.Selector != nil {
				m.Selector.MatchExpressions = nil
			}
		}
	}
}

func mendCluster(c *stowagev1.Cluster) {
	c.Namespaces = c.Namespaces[:min(len(c.Namespaces), 2)]
	for i, n := range c.Namespaces {
		n.Name = [...]string{"default", "prod"}[i]
	}
	for _, t := range c.PodTemplates {
		if t.Spec != nil {
			t.Spec.NodeName = ""
		}
	}
	for _, n := range c.Nodes {
		mendNode(n)
	}
	for i, g := range c.PodGroups {
		g.Name = "default/group-" + strconv.Itoa(i)
	}
	mendStorage(c, "stored-")
}

// mendStorage gives the objects of a cluster or a delta, of storage and of devices, names that are unique, and lets a delta remove none.
func mendStorage(m proto.Message, prefix string) {
	of := m.ProtoReflect()
	fields := of.Descriptor().Fields()
	for _, list := range []protoreflect.Name{
		"storage_classes", "csi_drivers", "csi_storage_capacities", "persistent_volumes", "persistent_volume_claims",
		"device_types", "device_expressions", "device_classes", "resource_slices", "resource_claims",
	} {
		if removed := fields.ByName("removed_" + list); removed != nil {
			of.Clear(removed)
		}
		items := of.Get(fields.ByName(list)).List()
		for i := range items.Len() {
			item := items.Get(i).Message()
			item.Set(item.Descriptor().Fields().ByName("name"), protoreflect.ValueOfString(prefix+strconv.Itoa(i)))
		}
	}
}

// mendDevices gives a message about devices the texts that it requires, and amounts that are not negative.
func mendDevices(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case rules.GetString().GetMinLen() > 0 && m.Get(f).String() == "":
			m.Set(f, protoreflect.ValueOfString("x"))
		case rules.GetInt64().HasGte() && m.Get(f).Int() < rules.GetInt64().GetGte() && (m.Has(f) || !f.HasPresence()):
			m.Set(f, protoreflect.ValueOfInt64(rules.GetInt64().GetGte()))
		}
	}
}

func mendNode(n *stowagev1.Node) {
	mendRunning(n.Pods)
	mendRunning(n.NominatedPods)
	for i, p := range n.NominatedPods {
		if p.Name == "" {
			p.Name = "nominated-" + strconv.Itoa(i)
		}
		p.StartTime, p.Preempted = nil, false
	}
}

func mendRunning(pods []*stowagev1.Pod) {
	for _, p := range pods {
		p.NominatedNodeName = ""
		p.Preempted = p.Preempted && p.Terminating
		if p.StartTime != nil {
			p.StartTime.Seconds = 1_700_000_000
		}
		if t := p.GetTemplate(); t != nil && t.Spec != nil {
			t.Spec.NodeName = ""
		}
	}
}

func mendPending(p *stowagev1.Pod) {
	if p != nil {
		p.StartTime, p.Preempted = nil, false
	}
}

func mendGroups(queue []*stowagev1.PendingPods, groups *[]*stowagev1.PodGroup, jointly bool) {
	*groups = (*groups)[:min(len(*groups), 1)]
	members := uint32(0)
	for _, p := range queue {
		if len(*groups) == 0 {
			p.PodGroup = ""
		}
		if p.PodGroup != "" {
			members++
		}
	}
	for _, g := range *groups {
		if joint := g.Mode == stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT; !joint {
			g.MaxSteps = nil
		} else if !jointly {
			g.Mode, g.MaxSteps = stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER, nil
		}
		if g.GetMinCount() > members {
			g.MinCount = nil
		}
	}
}

func mendEvictions(all []*stowagev1.NodeEvictions) {
	for _, e := range all {
		if len(e.Pods) > 0 { // most name pods that there are not
			e.Drained = true
		}
		if e.Drained {
			e.Pods, e.PodCounts = nil, nil
		}
	}
}

func withoutPods(all ...*stowagev1.Resources) {
	for _, r := range all {
		if r != nil {
			r.Pods = nil
		}
	}
}

func mendSpread(s *stowagev1.PodSpec) {
	type pair struct {
		key    string
		action stowagev1.UnsatisfiableAction
	}
	seen := make(map[pair]bool)
	kept := s.TopologySpreadConstraints[:0]
	for _, c := range s.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE {
			c.MinDomains = nil
		}
		if c.LabelSelector == nil {
			c.MatchLabelKeys = nil
		}
		if p := (pair{c.TopologyKey, c.WhenUnsatisfiable}); !seen[p] {
			seen[p] = true
			kept = append(kept, c)
		}
	}
	s.TopologySpreadConstraints = kept
}

func mendTerm(t *stowagev1.NodeSelectorTerm) {
	const in, notIn = stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN
	for _, e := range t.MatchExpressions {
		number := e.Operator >= stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT
		e.Values = mended(e.Values, e.Operator <= notIn || number, number)
	}
	for _, f := range t.MatchFields {
		f.Key = "metadata.name"
		if f.Operator != notIn {
			f.Operator = in
		}
		f.Values = mended(f.Values, true, true)
	}
}

// mended returns as many values as an operator wants: none, exactly one, or at least one.
func mended(values []string, some, one bool) []string {
	switch {
	case !some:
		return nil
	case len(values) == 0:
		return []string{"n1"}
	case one:
		return values[:1]
	}
	return values
}

// mendDelta keeps the parts of a delta that fit a cluster.
func mendDelta(m *stowagev1.ClusterDelta, base *stowagev1.Cluster) {
	nodes := make(map[string]*stowagev1.Node)
	for _, n := range base.Nodes {
		nodes[n.Name] = n
	}
	once := func(name string, is bool) bool {
		n := nodes[name]
		delete(nodes, name)
		return (n != nil) == is
	}
	m.RemovedNodes = slices.DeleteFunc(m.RemovedNodes, func(name string) bool { return !once(name, true) })
	m.NodePods = slices.DeleteFunc(m.NodePods, func(d *stowagev1.NodePodsDelta) bool {
		n := nodes[d.NodeName]
		if !once(d.NodeName, true) {
			return true
		}
		d.RemovedPodCounts, d.RemovedPods, d.RemovedNominatedPods = nil, nil, nil
		if len(n.PodCounts) > 0 && len(d.PodCounts)%2 == 0 {
			d.RemovedPodCounts = n.PodCounts[:1]
		}
		mendRunning(append(d.Pods, d.NominatedPods...))
		for i, p := range d.NominatedPods {
			p.Name, p.StartTime, p.Preempted = "added-"+strconv.Itoa(i), nil, false
		}
		return false
	})
	m.Nodes = slices.DeleteFunc(m.Nodes, func(n *stowagev1.Node) bool {
		mendNode(n)
		return slices.Contains(m.RemovedNodes, n.Name)
	})
	for i, t := range m.PodTemplates {
		t.Index = uint32(len(base.PodTemplates) + i)
		if t.Template != nil && t.Template.Spec != nil {
			t.Template.Spec.NodeName = ""
		}
	}
	for i, c := range m.NodeClasses {
		c.Index = uint32(len(base.NodeClasses) + i)
	}
	m.RemovedNamespaces, m.RemovedWorkloadSelectors, m.RemovedPodDisruptionBudgets = nil, nil, nil
	for i, n := range m.Namespaces {
		n.Name = "added-" + strconv.Itoa(i)
	}
	if len(m.Namespaces)%2 == 1 && len(base.Namespaces) > 0 {
		m.RemovedNamespaces = []string{base.Namespaces[0].Name}
	}
	if len(base.WorkloadSelectors) > 0 && len(m.WorkloadSelectors) == 0 {
		w := base.WorkloadSelectors[0]
		m.RemovedWorkloadSelectors = []*stowagev1.WorkloadSelectorName{{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}}
	}
	if len(base.PodDisruptionBudgets) > 0 && len(m.PodDisruptionBudgets) == 0 {
		b := base.PodDisruptionBudgets[0]
		m.RemovedPodDisruptionBudgets = []*stowagev1.NamespacedName{{Namespace: b.Namespace, Name: b.Name}}
	}
	mendStorage(m, "added-")
}
