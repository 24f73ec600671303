// Package selector holds labels and selectors in compiled form: keys and values are interned, so that matching compares
// integers.
package selector

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// Label is a label's key and value.
type Label struct {
	Key, Value intern.ID
}

// Labels is a set of labels. Invariant: sorted by key id, keys unique.
type Labels []Label

// CompileLabels interns labels.
func CompileLabels(t *intern.Table, l api.Labels) Labels {
	if len(l) == 0 {
		return nil
	}
	return AppendLabels(make(Labels, 0, len(l)), t, l)
}

// AppendLabels interns labels and appends them to an empty slice.
func AppendLabels(to Labels, t *intern.Table, l api.Labels) Labels {
	for i := range l {
		to = append(to, Label{t.Intern(l[i].Key), t.Intern(l[i].Value)})
	}
	slices.SortFunc(to, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	return to
}

// Get returns a label's value and whether it is present.
func (l Labels) Get(key intern.ID) (intern.ID, bool) {
	for len(l) > 8 {
		h := len(l) / 2
		if l[h].Key > key {
			l = l[:h]
		} else {
			l = l[h:]
		}
	}
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return 0, false
}
