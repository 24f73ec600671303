//go:build unix

package connections

import (
	"math"
	"syscall"
)

// descriptors is the process's limit of file descriptors.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) //nolint:unconvert // FreeBSD's is signed
}
