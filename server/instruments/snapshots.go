package instruments

// Snapshots are counts of kept snapshots.
type Snapshots struct {
	// Kept is their number, Bytes their memory including cached answers, and Limit the limit of that memory.
	Kept, Bytes, Limit int64
	// Evicted counts the snapshots that were evicted to make room.
	Evicted int64
}
