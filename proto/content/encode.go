package content

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The functions below append messages in the canonical encoding, fields in ascending order of their numbers. They repeat the
// contract because google.golang.org/protobuf writes oneofs last and is several times slower. A test compares them with the
// message descriptors.

// encoder appends to a buffer.
type encoder struct {
	b    []byte
	keys []string // reused for the keys of maps
	err  error
}

func (e *encoder) uint(field protowire.Number, v uint64) {
	e.b = protowire.AppendTag(e.b, field, protowire.VarintType)
	e.b = protowire.AppendVarint(e.b, v)
}

func (e *encoder) varint(field protowire.Number, v int64) {
	if v != 0 {
		e.uint(field, uint64(v))
	}
}

func (e *encoder) bool(field protowire.Number, v bool) {
	if v {
		e.uint(field, 1)
	}
}

func optional[T int32 | uint32 | int64](e *encoder, field protowire.Number, v *T) {
	if v != nil {
		e.uint(field, uint64(*v))
	}
}

// text appends a string, also an empty one.
func (e *encoder) text(field protowire.Number, s string) {
	if !utf8.ValidString(s) {
		e.err = errors.New("contains invalid UTF-8")
	}
	e.b = protowire.AppendTag(e.b, field, protowire.BytesType)
	e.b = protowire.AppendString(e.b, s)
}

func (e *encoder) string(field protowire.Number, s string) {
	if s != "" {
		e.text(field, s)
	}
}

func (e *encoder) strings(field protowire.Number, list []string) {
	for _, s := range list {
		e.text(field, s)
	}
}

// lengthDelimited appends a field whose value is what body appends.
func (e *encoder) lengthDelimited(field protowire.Number, body func()) {
	e.b = protowire.AppendTag(e.b, field, protowire.BytesType)
	start := len(e.b)
	e.b = append(e.b, 0)
	body()
	size := len(e.b) - start - 1
	if more := protowire.SizeVarint(uint64(size)) - 1; more > 0 {
		e.b = slices.Insert(e.b, start, make([]byte, more)...)
	}
	binary.PutUvarint(e.b[start:], uint64(size))
}

// nested appends a message field; nil counts as an empty message.
func nested[M any](e *encoder, field protowire.Number, m *M, write func(*encoder, *M)) {
	e.lengthDelimited(field, func() {
		if m != nil {
			write(e, m)
		}
	})
}

// one appends a message field unless it is nil.
func one[M any](e *encoder, field protowire.Number, m *M, write func(*encoder, *M)) {
	if m != nil {
		nested(e, field, m, write)
	}
}

// each appends a repeated message field.
func each[M any](e *encoder, field protowire.Number, list []*M, write func(*encoder, *M)) {
	for _, m := range list {
		nested(e, field, m, write)
	}
}

// entries appends a map in the order of its keys.
func entries[V any](e *encoder, field protowire.Number, m map[string]V, write func(protowire.Number, V)) {
	e.keys = slices.AppendSeq(e.keys[:0], maps.Keys(m))
	slices.Sort(e.keys)
	for _, key := range e.keys {
		e.lengthDelimited(field, func() {
			e.text(1, key)
			write(2, m[key])
		})
	}
}

func (e *encoder) labels(field protowire.Number, m map[string]string) { entries(e, field, m, e.text) }

// node appends a normalized node.
func node(e *encoder, n *stowagev1.Node) {
	e.string(1, n.Name)
	e.labels(2, n.Labels)
	each(e, 3, n.Taints, taint)
	e.bool(4, n.Unschedulable)
	one(e, 5, n.Allocatable, resources)
	each(e, 6, n.Images, image)
	each(e, 7, n.PodCounts, podCount)
	each(e, 8, n.Pods, pod)
	optional(e, 9, n.ClassIndex)
	each(e, 10, n.NominatedPods, pod)
}

func nodeClass(e *encoder, c *stowagev1.NodeClass) {
	e.labels(1, c.Labels)
	each(e, 2, c.Taints, taint)
	one(e, 3, c.Allocatable, resources)
	each(e, 4, c.Images, image)
	e.strings(5, c.NameLabelKeys)
}

func podCount(e *encoder, c *stowagev1.PodCount) {
	e.varint(1, int64(c.TemplateIndex))
	e.varint(2, int64(c.Count))
	e.bool(3, c.Terminating)
	e.varint(4, int64(c.Readiness))
}

func image(e *encoder, i *stowagev1.ContainerImage) {
	e.strings(1, i.Names)
	e.varint(2, i.SizeBytes)
}

func taint(e *encoder, t *stowagev1.Taint) {
	e.string(1, t.Key)
	e.string(2, t.Value)
	e.varint(3, int64(t.Effect))
}

func resources(e *encoder, r *stowagev1.Resources) {
	optional(e, 1, r.CpuMillis)
	optional(e, 2, r.MemoryBytes)
	optional(e, 3, r.EphemeralStorageBytes)
	optional(e, 4, r.Pods)
	entries(e, 5, r.Scalars, func(field protowire.Number, v int64) { e.uint(field, uint64(v)) })
}

func namespace(e *encoder, n *stowagev1.Namespace) {
	e.string(1, n.Name)
	e.labels(2, n.Labels)
}

func workloadSelector(e *encoder, w *stowagev1.WorkloadSelector) {
	e.varint(1, int64(w.Kind))
	e.string(2, w.Namespace)
	e.string(3, w.Name)
	one(e, 4, w.Selector, labelSelector)
}

func podDisruptionBudget(e *encoder, p *stowagev1.PodDisruptionBudget) {
	e.string(1, p.Namespace)
	e.string(2, p.Name)
	one(e, 3, p.Selector, labelSelector)
	e.varint(4, int64(p.DisruptionsAllowed))
	e.strings(5, p.DisruptedPods)
	e.varint(6, int64(p.UnhealthyPodEvictionPolicy))
	e.varint(7, int64(p.CurrentHealthy))
	e.varint(8, int64(p.DesiredHealthy))
	e.bool(9, p.Outdated)
}

func podGroup(e *encoder, g *stowagev1.PodGroup) {
	e.string(1, g.Name)
	optional(e, 2, g.MinCount)
	e.varint(3, int64(g.Mode))
	one(e, 4, g.Topology, podGroupTopology)
	optional(e, 5, g.MaxSteps)
	optional(e, 6, g.Priority)
	e.varint(7, int64(g.DisruptionMode))
}

func podGroupTopology(e *encoder, t *stowagev1.PodGroupTopology) {
	e.strings(1, t.Keys)
	e.varint(2, int64(t.Policy))
}

func timestamp(e *encoder, t *timestamppb.Timestamp) {
	e.varint(1, t.Seconds)
	e.varint(2, int64(t.Nanos))
}

func pod(e *encoder, p *stowagev1.Pod) {
	e.string(1, p.Name)
	switch source := p.Source.(type) {
	case *stowagev1.Pod_TemplateIndex:
		e.uint(2, uint64(source.TemplateIndex))
	case *stowagev1.Pod_Template:
		nested(e, 3, source.Template, podTemplate)
	}
	e.labels(4, p.Labels)
	e.bool(5, p.Terminating)
	one(e, 6, p.ResourceStatus, podResourceStatus)
	each(e, 7, p.Unread, unreadField)
	e.string(8, p.NominatedNodeName)
	one(e, 9, p.StartTime, timestamp)
	e.bool(10, p.Preempted)
	e.varint(11, int64(p.Readiness))
}

func unreadField(e *encoder, u *stowagev1.UnreadField) {
	e.string(1, u.Object)
	e.string(2, u.Field)
	e.string(3, u.Consequence)
}

func podTemplate(e *encoder, t *stowagev1.PodTemplate) {
	e.string(1, t.Namespace)
	e.labels(2, t.Labels)
	one(e, 3, t.Controller, controllerReference)
	one(e, 4, t.Spec, podSpec)
}

func controllerReference(e *encoder, r *stowagev1.ControllerReference) {
	e.string(1, r.ApiVersion)
	e.string(2, r.Kind)
	e.string(3, r.Name)
	e.bool(4, r.Gone)
}

func podSpec(e *encoder, s *stowagev1.PodSpec) {
	e.labels(1, s.NodeSelector)
	one(e, 2, s.Affinity, affinity)
	each(e, 3, s.Tolerations, toleration)
	each(e, 4, s.TopologySpreadConstraints, topologySpreadConstraint)
	each(e, 5, s.Containers, container)
	each(e, 6, s.InitContainers, container)
	one(e, 7, s.Requests, resources)
	one(e, 8, s.Overhead, resources)
	each(e, 9, s.Volumes, volume)
	e.string(10, s.NodeName)
	e.strings(11, s.SchedulingGates)
	e.varint(12, int64(s.Priority))
	if s.PreemptionPolicy != stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY {
		e.varint(13, int64(s.PreemptionPolicy))
	}
	e.string(14, s.SchedulerName)
	e.string(15, s.SchedulingGroup)
}

func volume(e *encoder, v *stowagev1.Volume) {
	switch source := v.GetSource().(type) {
	case *stowagev1.Volume_Image:
		e.lengthDelimited(1, func() { e.string(1, source.Image.GetReference()) })
	case *stowagev1.Volume_EmptyDir:
		e.lengthDelimited(2, func() {})
	}
}

func container(e *encoder, c *stowagev1.Container) {
	e.string(1, c.Name)
	e.string(2, c.Image)
	one(e, 3, c.Requests, resources)
	each(e, 4, c.HostPorts, hostPort)
	e.varint(5, int64(c.RestartPolicy))
}

func hostPort(e *encoder, p *stowagev1.HostPort) {
	e.varint(1, int64(p.Port))
	e.varint(2, int64(p.Protocol))
	e.string(3, p.HostIp)
}

func podResourceStatus(e *encoder, s *stowagev1.PodResourceStatus) {
	e.bool(1, s.ResizeInfeasible)
	each(e, 2, s.Containers, containerResourceStatus)
	one(e, 3, s.Allocated, resources)
	one(e, 4, s.Actuated, resources)
	e.bool(5, s.ResourcesPresent)
}

func containerResourceStatus(e *encoder, s *stowagev1.ContainerResourceStatus) {
	e.string(1, s.Name)
	one(e, 2, s.Allocated, resources)
	one(e, 3, s.Actuated, resources)
}

func labelSelector(e *encoder, s *stowagev1.LabelSelector) {
	e.labels(1, s.MatchLabels)
	each(e, 2, s.MatchExpressions, labelSelectorRequirement)
}

func labelSelectorRequirement(e *encoder, r *stowagev1.LabelSelectorRequirement) {
	e.string(1, r.Key)
	e.varint(2, int64(r.Operator))
	e.strings(3, r.Values)
}

func nodeSelector(e *encoder, s *stowagev1.NodeSelector) { each(e, 1, s.Terms, nodeSelectorTerm) }

func nodeSelectorTerm(e *encoder, t *stowagev1.NodeSelectorTerm) {
	each(e, 1, t.MatchExpressions, nodeSelectorRequirement)
	each(e, 2, t.MatchFields, nodeSelectorRequirement)
}

func nodeSelectorRequirement(e *encoder, r *stowagev1.NodeSelectorRequirement) {
	e.string(1, r.Key)
	e.varint(2, int64(r.Operator))
	e.strings(3, r.Values)
}

func affinity(e *encoder, a *stowagev1.Affinity) {
	one(e, 1, a.NodeAffinity, nodeAffinity)
	one(e, 2, a.PodAffinity, podAffinity)
	one(e, 3, a.PodAntiAffinity, podAffinity)
}

func nodeAffinity(e *encoder, a *stowagev1.NodeAffinity) {
	one(e, 1, a.Required, nodeSelector)
	each(e, 2, a.Preferred, preferredSchedulingTerm)
}

func preferredSchedulingTerm(e *encoder, t *stowagev1.PreferredSchedulingTerm) {
	e.varint(1, int64(t.Weight))
	one(e, 2, t.Preference, nodeSelectorTerm)
}

func podAffinity(e *encoder, a *stowagev1.PodAffinity) {
	each(e, 1, a.Required, podAffinityTerm)
	each(e, 2, a.Preferred, weightedPodAffinityTerm)
}

func weightedPodAffinityTerm(e *encoder, t *stowagev1.WeightedPodAffinityTerm) {
	e.varint(1, int64(t.Weight))
	one(e, 2, t.Term, podAffinityTerm)
}

func podAffinityTerm(e *encoder, t *stowagev1.PodAffinityTerm) {
	one(e, 1, t.LabelSelector, labelSelector)
	e.strings(2, t.Namespaces)
	one(e, 3, t.NamespaceSelector, labelSelector)
	e.string(4, t.TopologyKey)
	e.strings(5, t.MatchLabelKeys)
	e.strings(6, t.MismatchLabelKeys)
}

func toleration(e *encoder, t *stowagev1.Toleration) {
	e.string(1, t.Key)
	e.varint(2, int64(t.Operator))
	e.string(3, t.Value)
	e.varint(4, int64(t.Effect))
}

func topologySpreadConstraint(e *encoder, c *stowagev1.TopologySpreadConstraint) {
	e.varint(1, int64(c.MaxSkew))
	e.string(2, c.TopologyKey)
	e.varint(3, int64(c.WhenUnsatisfiable))
	one(e, 4, c.LabelSelector, labelSelector)
	optional(e, 5, c.MinDomains)
	e.varint(6, int64(c.NodeAffinityPolicy))
	e.varint(7, int64(c.NodeTaintsPolicy))
	e.strings(8, c.MatchLabelKeys)
}
