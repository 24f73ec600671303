package cluster

import (
	"context"
	"maps"
	"slices"
)

// Fork returns a state of its own in which is placed what is placed in s. Pods are to be compiled for it anew.
func (s *State) Fork(ctx context.Context) *State {
	f := *s
	f.ctx = ctx
	f.groups = slices.Clone(s.groups)
	for i := range f.groups {
		f.groups[i].Assumed = slices.Clip(f.groups[i].Assumed)
	}
	f.ports = slices.Clip(s.ports)
	f.assumed = slices.Clip(s.assumed)
	if s.added != nil {
		f.added = maps.Clone(s.added)
		f.antiAffinity, f.wishes = s.antiAffinity.clone(), s.wishes.clone()
	}
	if s.Resources != s.Cluster.resources {
		f.Resources = s.Resources.clone()
	}
	return &f
}

// Release takes back the pods that were assumed after the first so many.
func (s *State) Release(first int) {
	for i := len(s.assumed) - 1; i >= first; i-- {
		a := &s.assumed[i]
		g := &s.groups[a.Group]
		g.Assumed = g.Assumed[:len(g.Assumed)-1]
		s.Resources.add(a.Node, &a.pod.usage, -1)
	}
	s.assumed = s.assumed[:first]
}

func (x *terms) clone() terms {
	c := terms{byLabel: maps.Clone(x.byLabel), others: slices.Clip(x.others), bytes: x.bytes}
	for label, of := range c.byLabel {
		c.byLabel[label] = slices.Clip(of)
	}
	return c
}
