package manifest_test

import (
	"syscall"
	"testing"
	"time"
)

// used returns the processor time of this process, and the most memory that it had, in bytes.
func used(t testing.TB) (time.Duration, int64) {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}
