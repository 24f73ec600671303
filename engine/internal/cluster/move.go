package cluster

import "github.com/stowage-scheduler/stowage/engine/internal/nodeset"

// Move is pods that came to a node or left it, or another change to what a decision reads, after the moves before it. Undo goes back
// along the chain of moves, and what comes next begins another branch. So whatever counts the pods of a state up to a move finds the
// way from there to the state's last move, whatever was undone meanwhile (Way).
type Move struct {
	before *Move
	depth  int32
	// Group is the group of the pods; or Cordoned, or Renewed.
	Group int32
	Node  uint32
	// Pods is negative for pods that left.
	Pods int32
	// frees is set if the pods free resources by coming.
	frees bool
}

// The moves that are about no pods.
const (
	Cordoned = -1 - iota // of a node
	Renewed              // of all that decisions read
)

// Raises reports whether a node may have more room after a move, or after the move is undone with a sign of -1.
func (m *Move) Raises(sign int32) bool { return sign*m.Pods < 0 || m.Group < 0 || m.frees }

// length returns the length of the chain up to a move; nil is its beginning.
func (m *Move) length() int32 {
	if m == nil {
		return 0
	}
	return m.depth
}

// Way passes the moves on the way from one point of the chain to another: with a sign of 1 the moves to count, with -1 the moves that
// were undone.
func Way(from, to *Move, use func(m *Move, sign int32)) {
	for to.length() > from.length() {
		use(to, 1)
		to = to.before
	}
	for from.length() > to.length() {
		use(from, -1)
		from = from.before
	}
	for from != to {
		use(to, 1)
		use(from, -1)
		from, to = from.before, to.before
	}
}

// Parted reports whether the way between two points leads over the beginning of the chain.
func Parted(a, b *Move) bool {
	for a != b {
		if a.length() >= b.length() {
			a = a.before
		} else {
			b = b.before
		}
	}
	return a == nil
}

// Before returns the move before; nil at the beginning of the chain.
func (m *Move) Before() *Move { return m.before }

// LastMove returns the last move of the state; nil for none.
func (s *State) LastMove() *Move { return s.last }

// Revision counts the changes after which nodes may have more room than before.
func (s *State) Revision() int { return s.revision }

// Revise counts a change after which what pods take no longer follows from their group.
func (s *State) Revise() { s.revision++ }

// moves is the chain of a state.
type moves struct {
	last     *Move
	revision int
	// base is the cluster without the state's cordons, and shut the unschedulable nodes with them; nil without cordons.
	base *Cluster
	shut nodeset.Set
}

func (s *State) move(m Move) {
	m.before, m.depth = s.last, s.last.length()+1
	s.last = &m
	if m.Raises(1) {
		s.revision++
	}
}

// unmove takes back the last move.
func (s *State) unmove() {
	s.last = s.last.before
	s.revision++
}

// HasCordoned reports whether the state cordoned a node.
func (s *State) HasCordoned(node uint32) bool {
	return s.shut != nil && s.shut.Has(node) && !s.base.Unschedulable.Has(node)
}

// AnyCordoned reports whether the state cordoned nodes.
func (s *State) AnyCordoned() bool { return s.shut != nil }

// Uncordoned runs a function as if the state had cordoned no node.
func (s *State) Uncordoned(use func()) {
	now := s.Cluster
	s.Cluster = s.base
	defer func() { s.Cluster = now }()
	use()
}

// Cordon cordons nodes for the state. Decisions that were compiled before do not know of it. Once the request has ended, nothing
// happens.
func (s *State) Cordon(nodes []uint32) {
	cordoned, err := s.Cluster.Cordoned(s.ctx, nodes)
	if err != nil {
		return
	}
	before, shut, last := s.Cluster, s.shut, s.last
	s.note(func() {
		s.Cluster, s.shut, s.last = before, shut, last
		s.revision++
	})
	s.Cluster, s.shut = cordoned, cordoned.Unschedulable
	for _, n := range nodes {
		s.move(Move{Group: Cordoned, Node: n})
	}
}
