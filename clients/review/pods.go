package review

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// podSet is the pods of a namespace with equal labels. Its count does not include pods that a workload would create.
type podSet struct {
	labels labels.Set
	count  int
}

// podIndex is the pods of a namespace.
type podIndex struct {
	sets    []*podSet
	byAll   map[string]*podSet   // by all labels
	byLabel map[string][]*podSet // by each of their labels
}

func (x *podIndex) add(l labels.Set, count int) *podSet {
	key := l.String()
	s := x.byAll[key]
	if s == nil {
		s = &podSet{labels: l}
		x.byAll[key] = s
		x.sets = append(x.sets, s)
		for name, value := range l {
			x.byLabel[name+"="+value] = append(x.byLabel[name+"="+value], s)
		}
	}
	s.count += count
	return s
}

// matching iterates over the pods that a selector selects. It starts from the rarest of the labels with one value.
func (x *podIndex) matching(selector labels.Selector) iter.Seq[*podSet] {
	return func(yield func(*podSet) bool) {
		if x == nil {
			return
		}
		among := x.sets
		requirements, _ := selector.Requirements()
		for _, r := range requirements {
			one := r.Operator() == selection.In || r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals
			if values := r.ValuesUnsorted(); one && len(values) == 1 {
				if with := x.byLabel[r.Key()+"="+values[0]]; len(with) < len(among) {
					among = with
				}
			}
		}
		for _, s := range among {
			if selector.Matches(s.labels) && !yield(s) {
				return
			}
		}
	}
}

// selected counts the pods of a namespace that a selector selects. some also counts pods that workloads would create.
func (r *Reviewer) selected(namespace string, selector labels.Selector) (pods int, some bool) {
	for s := range r.pods[namespace].matching(selector) {
		pods += s.count
		some = true
	}
	return pods, some
}

// selects reports whether a selector selects pods of a namespace, including pods that workloads would create.
func (r *Reviewer) selects(namespace string, selector labels.Selector) bool {
	for range r.pods[namespace].matching(selector) {
		return true
	}
	return false
}
