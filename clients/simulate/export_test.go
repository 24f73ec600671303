package simulate

// Settle makes what changed a part of the snapshot's cluster, as a long history does.
func (s *Snapshot) Settle() error { return s.settle(s.base.delta(&s.now)) }

// Changes is the number of changes that every request carries.
func (s *Snapshot) Changes() int { return s.now.changes }
