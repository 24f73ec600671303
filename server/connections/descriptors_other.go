//go:build !unix

package connections

import "math"

// descriptors is the process's limit of file descriptors.
func descriptors() uint64 { return math.MaxUint64 }
