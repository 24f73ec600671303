package place

// common is pods that differ in their names alone, on which the names of their claims depend.
type common struct{ pods int }

// commonOf returns what pods have in common.
func commonOf(all map[classKey]*common, key classKey) *common {
	key.name = ""
	if all[key] == nil {
		all[key] = &common{}
	}
	return all[key]
}

// commonKey identifies pods with a common part whose claims have equal specs.
type commonKey struct {
	*common
	specs string
}

// nameless returns the class of pods without names that are evaluated like the next pod of a class; nil if there is none. What makes the
// pods alike depends on what others bound and attached, so it is checked for each of them.
func (q *Queue) nameless(c *Class) *Class {
	if c.common == nil || q.State.AnyNominated() || q.State.AnyNominations() {
		return nil
	}
	specs, alike := q.State.Alike(c.Pod)
	if !alike {
		return nil
	}
	key := commonKey{c.common, specs}
	of := q.commons[key]
	if of == nil {
		if q.commons == nil {
			q.commons = make(map[commonKey]*Class)
		}
		of = &Class{Pod: q.State.Nameless(c.Pod), pods: c.common.pods}
		q.commons[key] = of
	}
	if of.Scan {
		return nil
	}
	q.Decision(of)
	return of
}
