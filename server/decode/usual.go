package decode

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The functions below decode templates and classes as proto.Unmarshal does, only that strings lie in the wire's bytes.
// They fail on what is not written in the usual way, fields in order. Reflection would cost several times as much, most
// of it for maps.

// usualTemplate decodes a template, and reports whether it could.
func usualTemplate(raw []byte, m *stowagev1.PodTemplate) bool {
	s := scan{rest: bytes.Clone(raw)}
	for last := uint64(0); len(s.rest) > 0; {
		switch s.next(&last, 1<<2) {
		case sized(1):
			m.Namespace = s.string()
		case sized(2):
			s.entry(&m.Labels)
		case sized(3):
			m.Controller = new(stowagev1.ControllerReference)
			s.message(m.Controller)
		case sized(4):
			m.Spec = new(stowagev1.PodSpec)
			s.podSpec(m.Spec)
		default:
			return false
		}
	}
	return !s.bad
}

// usualClass decodes a class, and reports whether it could.
func usualClass(raw []byte, m *stowagev1.NodeClass) bool {
	s := scan{rest: bytes.Clone(raw)}
	for last := uint64(0); len(s.rest) > 0; {
		switch s.next(&last, 1<<1|1<<2|1<<4|1<<5) {
		case sized(1):
			s.entry(&m.Labels)
		case sized(2):
			m.Taints = append(m.Taints, new(stowagev1.Taint))
			s.message(m.Taints[len(m.Taints)-1])
		case sized(3):
			m.Allocatable = new(stowagev1.Resources)
			s.resources(m.Allocatable)
		case sized(4):
			m.Images = append(m.Images, new(stowagev1.ContainerImage))
			s.message(m.Images[len(m.Images)-1])
		case sized(5):
			m.NameLabelKeys = append(m.NameLabelKeys, s.string())
		default:
			return false
		}
	}
	return !s.bad
}

// sized and number are the tags of fields.
func sized(field uint64) uint64  { return field<<3 | uint64(protowire.BytesType) }
func number(field uint64) uint64 { return field<<3 | uint64(protowire.VarintType) }

// next reads a tag. Fields must be in order, and none twice but for those that may be repeated, a bit for each.
func (s *scan) next(last *uint64, repeated uint) uint64 {
	tag := s.varint()
	if field := tag >> 3; field < *last || field == *last && (field >= 64 || repeated>>field&1 == 0) {
		s.fail()
		return 0
	}
	*last = tag >> 3
	return tag
}

// nested begins the message that follows, done ends it.
func (s *scan) nested() scan { return scan{rest: s.bytes()} }

func (s *scan) done(in *scan) {
	if in.bad {
		s.fail()
	}
}

func (s *scan) message(m proto.Message) {
	if proto.Unmarshal(s.bytes(), m) != nil {
		s.fail()
	}
}

func (s *scan) entry(m *map[string]string) {
	key, value, ok := s.label()
	if !ok {
		s.fail()
		return
	}
	if *m == nil {
		*m = make(map[string]string)
	}
	(*m)[key] = value
}

func (s *scan) amount() *int64 {
	v := int64(s.varint())
	return &v
}

func (s *scan) podSpec(m *stowagev1.PodSpec) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<1|1<<3|1<<4|1<<5|1<<6|1<<9|1<<11) {
		case sized(1):
			in.entry(&m.NodeSelector)
		case sized(2):
			m.Affinity = new(stowagev1.Affinity)
			in.affinity(m.Affinity)
		case sized(3):
			m.Tolerations = append(m.Tolerations, new(stowagev1.Toleration))
			in.message(m.Tolerations[len(m.Tolerations)-1])
		case sized(4):
			m.TopologySpreadConstraints = append(m.TopologySpreadConstraints, new(stowagev1.TopologySpreadConstraint))
			in.spread(m.TopologySpreadConstraints[len(m.TopologySpreadConstraints)-1])
		case sized(5):
			m.Containers = append(m.Containers, new(stowagev1.Container))
			in.container(m.Containers[len(m.Containers)-1])
		case sized(6):
			m.InitContainers = append(m.InitContainers, new(stowagev1.Container))
			in.container(m.InitContainers[len(m.InitContainers)-1])
		case sized(7):
			m.Requests = new(stowagev1.Resources)
			in.resources(m.Requests)
		case sized(8):
			m.Overhead = new(stowagev1.Resources)
			in.resources(m.Overhead)
		case sized(9):
			m.ImageVolumes = append(m.ImageVolumes, in.string())
		case sized(10):
			m.NodeName = in.string()
		case sized(11):
			m.SchedulingGates = append(m.SchedulingGates, in.string())
		case number(12):
			m.Priority = int32(in.varint())
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) container(m *stowagev1.Container) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<4) {
		case sized(1):
			m.Name = in.string()
		case sized(2):
			m.Image = in.string()
		case sized(3):
			m.Requests = new(stowagev1.Resources)
			in.resources(m.Requests)
		case sized(4):
			m.HostPorts = append(m.HostPorts, new(stowagev1.HostPort))
			in.message(m.HostPorts[len(m.HostPorts)-1])
		case number(5):
			m.RestartPolicy = stowagev1.ContainerRestartPolicy(in.varint())
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) resources(m *stowagev1.Resources) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<5) {
		case number(1):
			m.CpuMillis = in.amount()
		case number(2):
			m.MemoryBytes = in.amount()
		case number(3):
			m.EphemeralStorageBytes = in.amount()
		case number(4):
			m.Pods = in.amount()
		case sized(5):
			entry := in.nested()
			name := entry.mapKey()
			entry.valueTag(protowire.VarintType)
			if m.Scalars == nil {
				m.Scalars = make(map[string]int64)
			}
			m.Scalars[name] = int64(entry.varint())
			if len(entry.rest) > 0 {
				entry.fail()
			}
			in.done(&entry)
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) affinity(m *stowagev1.Affinity) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 0) {
		case sized(1):
			m.NodeAffinity = new(stowagev1.NodeAffinity)
			in.message(m.NodeAffinity)
		case sized(2):
			m.PodAffinity = new(stowagev1.PodAffinity)
			in.podAffinity(m.PodAffinity)
		case sized(3):
			m.PodAntiAffinity = new(stowagev1.PodAffinity)
			in.podAffinity(m.PodAntiAffinity)
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) podAffinity(m *stowagev1.PodAffinity) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<1|1<<2) {
		case sized(1):
			m.Required = append(m.Required, new(stowagev1.PodAffinityTerm))
			in.podAffinityTerm(m.Required[len(m.Required)-1])
		case sized(2):
			m.Preferred = append(m.Preferred, new(stowagev1.WeightedPodAffinityTerm))
			in.message(m.Preferred[len(m.Preferred)-1])
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) podAffinityTerm(m *stowagev1.PodAffinityTerm) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<2|1<<5|1<<6) {
		case sized(1):
			m.LabelSelector = new(stowagev1.LabelSelector)
			in.labelSelector(m.LabelSelector)
		case sized(2):
			m.Namespaces = append(m.Namespaces, in.string())
		case sized(3):
			m.NamespaceSelector = new(stowagev1.LabelSelector)
			in.labelSelector(m.NamespaceSelector)
		case sized(4):
			m.TopologyKey = in.string()
		case sized(5):
			m.MatchLabelKeys = append(m.MatchLabelKeys, in.string())
		case sized(6):
			m.MismatchLabelKeys = append(m.MismatchLabelKeys, in.string())
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) labelSelector(m *stowagev1.LabelSelector) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<1|1<<2) {
		case sized(1):
			in.entry(&m.MatchLabels)
		case sized(2):
			m.MatchExpressions = append(m.MatchExpressions, new(stowagev1.LabelSelectorRequirement))
			in.message(m.MatchExpressions[len(m.MatchExpressions)-1])
		default:
			in.fail()
		}
	}
	s.done(&in)
}

func (s *scan) spread(m *stowagev1.TopologySpreadConstraint) {
	in := s.nested()
	for last := uint64(0); len(in.rest) > 0; {
		switch in.next(&last, 1<<8) {
		case number(1):
			m.MaxSkew = int32(in.varint())
		case sized(2):
			m.TopologyKey = in.string()
		case number(3):
			m.WhenUnsatisfiable = stowagev1.UnsatisfiableAction(in.varint())
		case sized(4):
			m.LabelSelector = new(stowagev1.LabelSelector)
			in.labelSelector(m.LabelSelector)
		case number(5):
			domains := int32(in.varint())
			m.MinDomains = &domains
		case number(6):
			m.NodeAffinityPolicy = stowagev1.NodeInclusionPolicy(in.varint())
		case number(7):
			m.NodeTaintsPolicy = stowagev1.NodeInclusionPolicy(in.varint())
		case sized(8):
			m.MatchLabelKeys = append(m.MatchLabelKeys, in.string())
		default:
			in.fail()
		}
	}
	s.done(&in)
}
