package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// ports are host ports to look up.
type ports map[portKey]*addresses

type portKey struct {
	port     int32
	protocol api.Protocol
}

// addresses are the addresses of a port.
type addresses struct {
	every bool
	some  map[string]bool
}

func newPorts(list []api.HostPort) ports {
	p := make(ports, len(list))
	for _, h := range list {
		key := portKey{h.Port, h.Protocol}
		a := p[key]
		if a == nil {
			a = &addresses{some: make(map[string]bool)}
			p[key] = a
		}
		if everyAddress(h.HostIP) {
			a.every = true
		} else {
			a.some[h.HostIP] = true
		}
	}
	return p
}

// conflict returns the first of some ports that conflicts with one of p, and whether one does.
func (p ports) conflict(other []api.HostPort) (api.HostPort, bool) {
	for _, h := range other {
		if a := p[portKey{h.Port, h.Protocol}]; a != nil && (a.every || everyAddress(h.HostIP) || a.some[h.HostIP]) {
			return h, true
		}
	}
	return api.HostPort{}, false
}

func everyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" }

// slots returns a function that numbers the ports of a list that conflict with p. A node's occupied ports are a set, from which a
// leaving pod removes its ports (pkg/scheduler/framework/types.go NodeInfo.updateUsedPorts, v1.37).
func (p ports) slots() func([]api.HostPort) []int {
	known := make(map[api.HostPort]int)
	return func(list []api.HostPort) []int {
		var out []int
		for _, h := range list {
			if _, conflicts := p.conflict([]api.HostPort{h}); !conflicts {
				continue
			}
			h = cluster.Occupied(h)
			slot, ok := known[h]
			if !ok {
				slot = len(known)
				known[h] = slot
			}
			out = append(out, slot)
		}
		return out
	}
}
