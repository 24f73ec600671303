package cluster

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Term is a compiled pod affinity term: the pods of some namespaces that a selector matches, and a topology key
// (k8s.io/kube-scheduler/framework AffinityTerm, v0.37).
type Term struct {
	Selector    *selector.Selector
	TopologyKey intern.ID
	namespaces  []intern.ID // sorted, unique
	// namespaceSelector adds namespaces by their labels; nil adds none.
	namespaceSelector *selector.Selector
}

// WeightedTerm is a preferred term.
type WeightedTerm struct {
	Term
	Weight int64
}

func compileTerm(t *intern.Table, term *api.PodAffinityTerm, namespace intern.ID, labels selector.Labels) Term {
	c := Term{
		Selector: selector.CompileSelector(t, term.LabelSelector).
			WithKeys(t, term.MatchLabelKeys, api.In, labels).
			WithKeys(t, term.MismatchLabelKeys, api.NotIn, labels),
		TopologyKey:       t.Intern(term.TopologyKey),
		namespaceSelector: selector.CompileSelector(t, term.NamespaceSelector),
	}
	for _, n := range term.Namespaces {
		c.namespaces = append(c.namespaces, t.Intern(n))
	}
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		c.namespaces = []intern.ID{namespace}
	}
	slices.Sort(c.namespaces)
	c.namespaces = slices.Compact(c.namespaces)
	return c
}

// Matches reports whether the term selects a pod with these labels in a namespace with those labels.
func (t *Term) Matches(namespace intern.ID, namespaceLabels, labels selector.Labels) bool {
	return (slices.Contains(t.namespaces, namespace) || t.namespaceSelector.Matches(namespaceLabels)) &&
		t.Selector.Matches(labels)
}

// resolve returns the term of an incoming pod: its namespace selector is replaced by the names of the namespaces that it
// matches. An empty selector stays, because it also matches unknown namespaces
// (pkg/scheduler/framework/plugins/interpodaffinity/plugin.go mergeAffinityTermNamespacesIfNotEmpty, v1.37).
func (t Term) resolve(c *Cluster) Term {
	if t.namespaceSelector == nil || t.namespaceSelector.Empty() {
		return t
	}
	names := slices.Clone(t.namespaces)
	for _, ns := range c.namespaces {
		if t.namespaceSelector.Matches(ns.labels) {
			names = append(names, ns.name)
		}
	}
	slices.Sort(names)
	t.namespaces, t.namespaceSelector = slices.Compact(names), nil
	return t
}

func (t *Term) appendKey(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.TopologyKey))
	b = binary.AppendUvarint(b, uint64(len(t.namespaces)))
	for _, n := range t.namespaces {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return t.Selector.AppendKey(t.namespaceSelector.AppendKey(b))
}

func (t *Term) shared(table *intern.Table) bool {
	return table.Shared(t.TopologyKey) && t.Selector.Shared(table) && t.namespaceSelector.Shared(table) &&
		!slices.ContainsFunc(t.namespaces, func(n intern.ID) bool { return !table.Shared(n) })
}
