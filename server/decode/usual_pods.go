package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (u *usual) controller(s *scan, out *api.ControllerReference) {
	in := s.nested()
	var apiVersion, kind, name string
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			apiVersion = in.text(len(in.data))
		case sized(2):
			kind = in.text(len(in.data))
		case sized(3):
			name = in.text(MaxNameBytes)
		default:
			in.fail()
		}
	}
	*out = controllerOf(apiVersion, kind, name)
	s.done(&in)
}

func (u *usual) podSpec(s *scan, out *api.PodSpec) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<3|1<<4|1<<5|1<<6|1<<9|1<<11) {
		case sized(1):
			out.NodeSelector = u.labels(&in, sized(1))
		case sized(2):
			u.affinity(&in, out)
		case sized(3):
			out.Tolerations = append(out.Tolerations, u.toleration(&in))
		case sized(4):
			out.Spread = append(out.Spread, u.spread(&in, out.Spread))
		case sized(5):
			out.Containers = append(out.Containers, u.container(&in, false))
		case sized(6):
			out.InitContainers = append(out.InitContainers, u.container(&in, true))
		case sized(7):
			out.Requests = u.resources(&in, false)
		case sized(8):
			out.Overhead = u.resources(&in, false)
		case sized(9):
			out.ImageVolumes = append(out.ImageVolumes, in.string())
		case sized(10):
			out.NodeName = in.text(MaxNameBytes)
		case sized(11):
			out.SchedulingGates = append(out.SchedulingGates, in.string())
		case number(12):
			out.Priority = in.nonzero()
		default:
			in.fail()
		}
	}
	in.within(len(out.Tolerations), MaxTolerations)
	in.within(len(out.Spread), MaxSpreadConstraints)
	in.within(len(out.Containers), MaxContainers)
	in.within(len(out.InitContainers), MaxContainers)
	in.within(len(out.ImageVolumes), MaxContainers)
	in.within(len(out.SchedulingGates), MaxTolerations)
	s.done(&in)
}

func (u *usual) container(s *scan, init bool) (out api.Container) {
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<4) {
		case sized(1):
			out.Name = in.text(len(in.data))
		case sized(2):
			out.Image = in.text(len(in.data))
		case sized(3):
			out.Requests = u.resources(&in, false)
		case sized(4):
			out.HostPorts = append(out.HostPorts, u.hostPort(&in))
		case number(5):
			policy := in.nonzero()
			if stowagev1.ContainerRestartPolicy_name[policy] == "" {
				in.fail()
			}
			out.Sidecar = init && policy == int32(stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS)
		default:
			in.fail()
		}
	}
	in.within(len(out.HostPorts), MaxHostPorts)
	s.done(&in)
	return out
}

func (u *usual) hostPort(s *scan) (out api.HostPort) {
	in := s.nested()
	protocol := stowagev1.Protocol_PROTOCOL_UNSPECIFIED
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case number(1):
			out.Port = in.nonzero()
		case number(2):
			protocol = stowagev1.Protocol(in.nonzero())
		case sized(3):
			out.HostIP = in.text(len(in.data))
		default:
			in.fail()
		}
	}
	s.done(&in)
	return u.check.hostPort(&path{}, out.Port, protocol, out.HostIP)
}

func (u *usual) toleration(s *scan) api.Toleration {
	in := s.nested()
	var key, value string
	var operator, effect int32
	for last := uint64(0); in.more(); {
		switch in.next(&last, 0) {
		case sized(1):
			key = in.text(MaxLabelKeyBytes)
		case number(2):
			operator = in.nonzero()
		case sized(3):
			value = in.text(MaxLabelValueBytes)
		case number(4):
			effect = in.nonzero()
		default:
			in.fail()
		}
	}
	s.done(&in)
	return u.check.toleration(&path{}, key, stowagev1.TolerationOperator(operator), value, stowagev1.TaintEffect(effect))
}

func (u *usual) spread(s *scan, before []api.TopologySpreadConstraint) api.TopologySpreadConstraint {
	out := api.TopologySpreadConstraint{MinDomains: 1}
	var action stowagev1.UnsatisfiableAction
	var affinityPolicy, taintsPolicy stowagev1.NodeInclusionPolicy
	var minDomains *int32
	in := s.nested()
	for last := uint64(0); in.more(); {
		switch in.next(&last, 1<<8) {
		case number(1):
			out.MaxSkew = in.nonzero()
		case sized(2):
			out.TopologyKey = in.string()
		case number(3):
			action = stowagev1.UnsatisfiableAction(in.nonzero())
		case sized(4):
			out.LabelSelector = u.labelSelector(&in)
		case number(5):
			domains := in.int32()
			minDomains = &domains
		case number(6):
			affinityPolicy = stowagev1.NodeInclusionPolicy(in.nonzero())
		case number(7):
			taintsPolicy = stowagev1.NodeInclusionPolicy(in.nonzero())
		case sized(8):
			out.MatchLabelKeys = append(out.MatchLabelKeys, in.string())
		default:
			in.fail()
		}
	}
	u.topologyKey(&in, out.TopologyKey)
	u.check.labelKeys(&path{}, "", out.MatchLabelKeys)
	if len(out.MatchLabelKeys) > 0 && out.LabelSelector == nil {
		in.fail()
	}
	if out.MaxSkew < 1 {
		in.fail()
	}
	out.IgnoreNodeAffinity = u.check.policy(&path{}, "", affinityPolicy) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_IGNORE
	out.HonorNodeTaints = u.check.policy(&path{}, "", taintsPolicy) == stowagev1.NodeInclusionPolicy_NODE_INCLUSION_POLICY_HONOR
	u.check.spreadRules(&path{}, &out, action, minDomains, before)
	s.done(&in)
	return out
}
