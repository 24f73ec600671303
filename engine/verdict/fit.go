package verdict

// Fit is how many more units of a mix of pods fit.
type Fit struct {
	Units int
	// Limited reports that the count ended at its limit: more may fit.
	Limited bool
	// Pods are the pods of the units, by entry of the mix.
	Pods []FitPods
	// Domains are in ascending order of their values.
	Domains []FitDomain
	// Binding is the entry whose pod has no feasible node in the next unit, -1 if Limited. Rejections, Message and Failed are the
	// result for that pod, as in Filter.
	Binding    int
	Rejections []Rejection
	Message    string
	Failed     bool
	// Explanation is why the candidates are infeasible for that pod; nil if it was not requested.
	Explanation *Explanation
	Changes     []FitChange
	Doubts      []Doubt
}

// FitPods is the pods of one entry of a mix: the nodes with pods, ascending, and the number of pods on each.
type FitPods struct {
	Nodes  []uint32
	Counts []uint32
}

// FitDomain is a topology domain.
type FitDomain struct {
	Value string
	// Placed is the number of pods of Fit.Units in the domain, by entry of the mix.
	Placed []uint32
	// Alone is the number of units that fit with the domain's nodes as the only candidates.
	Alone int
}

// FitChange is a change, and the number of units that fit with it.
type FitChange struct {
	Change
	Units int
}
