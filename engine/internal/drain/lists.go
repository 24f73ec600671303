package drain

import "github.com/stowage-scheduler/stowage/engine/verdict"

// Lists bounds the lists of all drains of a call: the entries, and the bytes of text in them.
type Lists struct{ left, text int }

// NewLists returns the bounds of a call.
func NewLists() Lists { return Lists{left: verdict.MaxListedPods, text: verdict.MaxListedText} }

// Cut shortens the lists of a drain to the remaining limits. The removed entries can be freed.
func (l *Lists) Cut(d *verdict.Drain) {
	for i := range d.Moves {
		m := &d.Moves[i]
		if l.left == 0 || !l.take(0, referenceText(&m.Pod)) {
			d.Moves, d.Truncated = first(d.Moves, i), true
			break
		}
		if m.Pod.Count > l.left {
			m.Pod.Count, m.Nodes, d.Truncated = l.left, first(m.Nodes, l.left), true
		}
		l.left -= m.Pod.Count
	}
	cutList(l, d, &d.Unplaced, func(u *verdict.UnplacedPod) (entries, text int) {
		return 1, referenceText(&u.Pod) + len(u.Message)
	})
	cutList(l, d, &d.Blocked, func(b *verdict.BlockedPod) (entries, text int) {
		text = referenceText(&b.Pod)
		for _, name := range b.Budgets {
			text += len(b.Pod.Namespace) + len(name)
		}
		return 1 + len(b.Budgets), text
	})
	cutList(l, d, &d.Doubts, func(u *verdict.Doubt) (entries, text int) {
		return 1, referenceText(&u.Pod) + len(u.Unread.Object) + len(u.Unread.Field) + len(u.Unread.Consequence) + len(u.Name)
	})
	cutList(l, d, &d.Preempted, func(p *verdict.PodReference) (entries, text int) { return 1, referenceText(p) })
}

func referenceText(p *verdict.PodReference) int { return len(p.Namespace) + len(p.Name) }

// take takes entries and text off what is left, and reports whether they were.
func (l *Lists) take(entries, text int) bool {
	if entries > l.left || text > l.text {
		return false
	}
	l.left -= entries
	l.text -= text
	return true
}

func cutList[T any](l *Lists, d *verdict.Drain, list *[]T, size func(*T) (entries, text int)) {
	for i := range *list {
		if !l.take(size(&(*list)[i])) {
			*list, d.Truncated = first(*list, i), true
			return
		}
	}
}

// first returns a copy of the first entries of a list, so that nothing keeps the others.
func first[T any](list []T, n int) []T { return append([]T(nil), list[:n]...) }
