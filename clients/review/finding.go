package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// Severity is the severity of a finding.
type Severity string

// The severities, the worst first.
const (
	// Broken: a required rule that cannot hold, or does not hold now.
	Broken Severity = "broken"
	// Warning: most likely a mistake, or a risk.
	Warning Severity = "warning"
	// Note: a rule without effect at present, which may be intended.
	Note Severity = "note"
)

// Severities lists the severities, the worst first.
func Severities() []Severity { return []Severity{Broken, Warning, Note} }

// Rule is the kind of a finding. The names are stable.
type Rule string

// The rules about placement rules.
const (
	TopologyKey       Rule = "topology-key"       // no node has it
	TopologyKeyInPart Rule = "topology-key-part"  // some nodes do not have it
	NodeSelector      Rule = "node-selector"      // no node has the label
	NodeAffinity      Rule = "node-affinity"      // no node matches
	NodeName          Rule = "node-name"          // no node has it
	Resource          Rule = "resource"           // no node has it
	SelectsNoPod      Rule = "selects-no-pod"     // a label selector selects no pod
	SelectsNotItself  Rule = "selects-not-itself" // a spread constraint does not count its own pod
	Namespace         Rule = "namespace"          // it does not exist
	Contradiction     Rule = "contradiction"      // requirements that exclude each other
	Unparsable        Rule = "unparsable"         // kube-scheduler cannot parse it
	OneDomain         Rule = "one-domain"         // spreads nothing
	SharedNode        Rule = "shared-node"        // more pods than nodes under a spread by hostname
	EmptyDomain       Rule = "empty-domain"       // counted by a spread, and closed to the pods
	VoidTerm          Rule = "void-term"          // another term matches all of its nodes
	MaxSkew           Rule = "max-skew"           // as large as the number of pods
	MinDomains        Rule = "min-domains"        // exceeds the number of domains
	NoWeight          Rule = "no-weight"          // the profile does not score by it
	BudgetBlocks      Rule = "budget-blocks"      // no pod can be evicted
	BudgetsOverlap    Rule = "budgets-overlap"    // several budgets select a pod
)

// Object is the object of a finding.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (o Object) String() string { return kube.Origin(o).String() }

// Finding is a result of a review or an audit.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	Object   Object   `json:"object"`
	// At is the file and document of the object; empty for objects of a live cluster.
	At string `json:"at,omitempty"`
	// Field is the path of the rule in the object; empty if the finding has none.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Pods is the number of affected pods.
	Pods int `json:"pods,omitempty"`
	// Nodes are the affected nodes.
	Nodes []string `json:"nodes,omitempty"`
}

// String is the finding in a line: the object, by its manifest if it has one, the field and the message.
func (f *Finding) String() string {
	parts := []string{cmp.Or(f.At, f.Object.String()), f.Field, f.Message}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Sort orders findings by severity, then by rule and object.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Severities(), a.Severity), slices.Index(Severities(), b.Severity)),
			strings.Compare(string(a.Rule), string(b.Rule)),
			strings.Compare(a.Object.Kind, b.Object.Kind), strings.Compare(a.Object.Namespace, b.Object.Namespace),
			strings.Compare(a.Object.Name, b.Object.Name), strings.Compare(a.Field, b.Field),
		)
	})
}

// Count returns the number of findings of a severity.
func Count(all []Finding, s Severity) int {
	n := 0
	for i := range all {
		if all[i].Severity == s {
			n++
		}
	}
	return n
}
