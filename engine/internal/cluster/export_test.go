package cluster

import (
	"fmt"
	"maps"
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

// Kept are the fields of State that Undo may leave as they are: what does not change, and what follows from the rest and is computed
// when it is needed.
var Kept = map[string]bool{
	"ctx": true, "Symbols": true, "groups": true, "ports": true, "volumeGroups": true, "attachedBy": true, "brought": true, "added": true, "addedBy": true, "addedAntiAffinity": true, "addedWishes": true,
	"byNode": true, "recounted": true, "listed": true, "membersOf": true, "Scores": true, "explained": true,
	"revision": true, "base": true,
}

// Restored returns the other fields, in a form that can be compared.
func (s *State) Restored() map[string]any {
	var nominated []string
	for _, of := range s.nominations {
		for _, n := range of.pods {
			nominated = append(nominated, fmt.Sprintf("%d %p %d %p", of.node, n, n.assumed, n.as))
		}
	}
	var started []string
	for _, a := range s.assumed {
		started = append(started, fmt.Sprint(a.name, a.node, a.queue, a.started, a.evicted))
	}
	amounts := make(map[uint32][]int64)
	for n := range uint32(s.Len()) {
		a := s.Resources.words.pages[n/PageNodes].get(n)
		amounts[n] = a[:]
	}
	present := func(m map[podName]int) map[podName]int {
		m = maps.Clone(m)
		maps.DeleteFunc(m, func(_ podName, n int) bool { return n == 0 })
		return m
	}
	joined := make(map[any]Membership)
	for id, m := range s.joined {
		if m != nil {
			joined[id] = *m
		}
	}
	entry := fmt.Sprint(s.entryGroup != nil)
	if s.entryGroup != nil {
		m, known := s.entryGroup(0)
		entry = fmt.Sprint(m.All, known)
	}
	granted := make(map[string]string)
	for name, g := range s.devicesOf.claims {
		granted[name.Namespace+"/"+name.Name] = fmt.Sprintf("%+v", g)
	}
	for pod, list := range s.devicesOf.held {
		for i, g := range list {
			granted[fmt.Sprint(pod, ".", i)] = fmt.Sprintf("%+v", g)
		}
	}
	if s.devicesOf.taken != nil {
		granted["taken"] = s.devicesOf.taken.String()
	} else {
		granted["taken"] = s.devices.claimed().String()
	}
	return map[string]any{
		"devicesOf": fmt.Sprint(granted, len(s.devicesOf.made)),
		"Cluster":   fmt.Sprintf("%p", s.Cluster), "Resources": amounts, "assumed": started, "evicted": len(s.evicted), "noted": len(s.noted),
		"last": fmt.Sprintf("%p", s.last), "shut": s.shut.Indexes(),
		"gone": len(s.gone), "placed": fmt.Sprint(present(s.placed)), "nominations": nominated, "cleared": fmt.Sprint(s.cleared),
		"occupied": fmt.Sprint(s.occupied), "entryGroup": entry, "joined": fmt.Sprint(joined), "whole": s.whole, "unnumbered": s.unnumbered,
		"bindings": fmt.Sprint(s.bindings.reserved, s.bindings.selected, s.bindings.made),
	}
}

// Attached returns what the nodes have attached of a driver, in a form that can be compared: as it is kept, and counted again. since
// is how many nodes may differ from what was known of a base, -1 if nothing was.
func (c *Cluster) Attached(driver string) (kept, counted map[string]string, since int) {
	form := func(a *driverUse) map[string]string {
		form := map[string]string{"limits": fmt.Sprint(a.limits), "counts": fmt.Sprint(a.counts), "full": fmt.Sprint(a.fullFor(1).Indexes())}
		for handle, list := range a.users.All {
			form["users of "+handle] = fmt.Sprint(list)
		}
		for node := range a.on {
			form[fmt.Sprint("on ", node)] = fmt.Sprint(a.on[node])
		}
		return form
	}
	since = -1
	if c.attachedBefore.before(driver) != nil {
		since = c.attachOther().Len()
	}
	return form(c.attachedBy(driver)), form(c.attach(driver, nil)), since
}
