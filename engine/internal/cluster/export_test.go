package cluster

import (
	"fmt"
	"slices"
)

// Changed reports whether pods are assumed or evicted.
func (s *State) Changed() bool { return s.changed() }

// Text describes a term of the state, whatever the ids of its strings.
func (t *Term) Text(s *State) string {
	var namespaces []string
	for _, n := range t.namespaces {
		namespaces = append(namespaces, s.Symbols.Name(n))
	}
	slices.Sort(namespaces)
	return fmt.Sprint(s.Symbols.Name(t.TopologyKey), namespaces, t.namespaceSelector != nil, t.Selector.Text(s.Symbols))
}

// Uses returns how much the pod takes of a resource.
func (p *Pending) Uses(resource string) int64 { return (&Occupant{usage: &p.usage}).Uses(resource) }
