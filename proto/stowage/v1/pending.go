// Package stowagev1 is the contract in Go, generated from the protos beside it.
package stowagev1

// PodCount is how many pods an entry has: its count, 1 if that is absent.
func (x *PendingPods) PodCount() uint32 {
	if x == nil || x.Count == nil {
		return 1
	}
	return *x.Count
}

// PodCount is how many pods of an entry a unit has: its count, 1 if that is absent.
func (x *FitPod) PodCount() uint32 {
	if x == nil || x.Count == nil {
		return 1
	}
	return *x.Count
}
