package cluster

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// anyAddress is how a node's occupied ports name the address of a port on every address
// (k8s.io/kube-scheduler/framework/types.go HostPortInfo sanitize, v0.37).
const anyAddress = "0.0.0.0"

// Occupied returns a port as it is in the set of a node's occupied ports.
func Occupied(h api.HostPort) api.HostPort {
	h.HostIP = cmp.Or(h.HostIP, anyAddress)
	return h
}

// occupied is the occupied host ports of a node, which are a set: a pod that leaves takes its ports out of it, even if another
// pod holds them, too (pkg/scheduler/framework/types.go NodeInfo.updateUsedPorts, v1.37).
type occupied map[api.HostPort]bool

// LeavePorts lets pods leave the set of occupied ports of their node, before they are evicted. The state keeps sets of nodes
// where a pod that stays holds a port of one that has left; on others a port is occupied if a pod holds it.
func (s *State) LeavePorts(node uint32, victims []Victim) {
	var leaves []api.HostPort
	for i := range victims {
		leaves = append(leaves, s.Group(int(victims[i].Group)).HostPorts...)
	}
	if len(leaves) == 0 {
		return
	}
	ports := maps.Clone(s.occupied[node])
	if ports == nil {
		holders := make(map[api.HostPort]int)
		for _, o := range s.Occupants(node) {
			for _, h := range s.Group(o.Group).HostPorts {
				holders[Occupied(h)] += o.Count
			}
		}
		left := make(map[api.HostPort]int)
		for i := range victims {
			for _, h := range s.Group(int(victims[i].Group)).HostPorts {
				left[Occupied(h)] += int(victims[i].Count)
			}
		}
		if !slices.ContainsFunc(leaves, func(h api.HostPort) bool { return holders[Occupied(h)] > left[Occupied(h)] }) {
			return
		}
		ports = make(occupied)
		for h := range holders {
			ports[h] = true
		}
	}
	for _, h := range leaves {
		delete(ports, Occupied(h))
	}
	s.occupy(node, ports)
}

// enterPorts adds the ports of an assumed pod to the set of its node.
func (s *State) enterPorts(node uint32, p *Pending) {
	ports := s.occupied[node]
	if ports == nil || len(p.HostPorts) == 0 {
		return
	}
	ports = maps.Clone(ports)
	for _, h := range p.HostPorts {
		ports[Occupied(h)] = true
	}
	s.occupy(node, ports)
}

// occupy sets the occupied ports of a node.
func (s *State) occupy(node uint32, ports occupied) {
	of, before := s.occupied, s.occupied[node]
	if of == nil {
		of = make(map[uint32]occupied)
		s.occupied = of
	}
	of[node] = ports
	s.note(func() {
		if of[node] = before; before == nil {
			delete(of, node)
		}
	})
}

// OccupiedPorts iterates over the sets of occupied ports that the state keeps, by node. The order differs from call to call.
func (s *State) OccupiedPorts() iter.Seq2[uint32, []api.HostPort] {
	return func(yield func(uint32, []api.HostPort) bool) {
		for node, ports := range s.occupied {
			if !yield(node, slices.Collect(maps.Keys(ports))) {
				return
			}
		}
	}
}
