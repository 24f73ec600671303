//go:build unix

package loopback

import (
	"syscall"
	"time"
)

// CPUTime is the processor time that the process has used, in user and kernel mode. Unlike the time on the clock it
// hardly depends on what else the machine does.
func CPUTime() time.Duration {
	var u syscall.Rusage
	// RUSAGE_SELF and a valid pointer cannot fail.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
