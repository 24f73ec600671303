//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that the process has used, in user and kernel mode. Unlike the time on the wall it hardly
// depends on what else the machine does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	// RUSAGE_SELF and a valid pointer cannot fail.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
