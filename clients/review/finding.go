package review

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	// Broken: a required rule that cannot hold, or that does not hold now.
	Broken Severity = "broken"
	// Warning: most likely not what was meant, or a risk.
	Warning Severity = "warning"
	// Note: a rule without effect as things are, which may be meant.
	Note Severity = "note"
)

// Severities lists the severities, the worst first.
func Severities() []Severity { return []Severity{Broken, Warning, Note} }

// Rule names what was found. The names do not change.
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
	MinDomains        Rule = "min-domains"        // more than there are
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

// Finding is one thing that was found.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	Object   Object   `json:"object"`
	// At is the file and document of the object; empty if it was not read from one.
	At string `json:"at,omitempty"`
	// Field is the path of the rule in the object; empty if there is none.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Pods is how many pods it is about; 0 if it is about no pods.
	Pods int `json:"pods,omitempty"`
	// Nodes are the nodes that it is about.
	Nodes []string `json:"nodes,omitempty"`
}

// String is the finding in a line: the object, as the manifests have it if it was read from one, the field and the message.
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
