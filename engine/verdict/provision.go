package verdict

// Provision is nodes to add so that the pods of a queue have nodes.
type Provision struct {
	// Counts are the new nodes by template. Names are their names in the order of their indexes, which follow the indexes of the
	// cluster's nodes.
	Counts []uint32
	Names  []string
	// Place is the result of Place on the cluster with the new nodes.
	Place Place
	Cost  int64
	// Bound is a lower bound of the cost of any counts with which as many pods are placed.
	Bound int64
	// Optimal reports whether it is proven that no counts place more pods, and none place as many for less, and there are no doubts
	// about the pods.
	Optimal bool
	Steps   int
	// Undecided reports whether a search for devices of the pods of Place was not decided. Nothing is proven if any search was not.
	Undecided bool
	// Unplaced are the entries with unplaced pods, ascending.
	Unplaced []Unprovisioned
}

// Unprovisioned is unplaced pods of an entry.
type Unprovisioned struct {
	Entry int
	// Impossible reports whether it is proven that no counts place any of the entry's pods.
	Impossible bool
	// Refusals are by template, ascending.
	Refusals []TemplateRefusal
	// Truncated reports whether there are none for some templates.
	Truncated bool
}

// TemplateRefusal is why one more node of a template would not take the first of the unplaced pods, once all others are placed;
// the message is empty if it would.
type TemplateRefusal struct {
	Template int
	Message  string
}
