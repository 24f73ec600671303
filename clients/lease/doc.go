// Package lease checks, right before a leader acts, whether it still holds its lease.
//
// client-go's leader election checks the lease at intervals, each with a deadline that starts when the process checks. A
// process that was suspended (stopped, throttled, or on a suspended machine) therefore keeps leading for up to a deadline after it
// resumes, although another process may have taken over. A Lock remembers when the last successful renewal began, so that every call
// can be checked without a request:
//
//	lock := lease.New(resourceLock, renewDeadline) // given to the leader election
//	term := lock.Term()                            // before deciding
//	if lock.Term() != term {                       // before acting
//		// decide again
//	}
//
// An extender binds for a kube-scheduler that holds the lease. It reads kube-scheduler's lease with an Observed, which has terms as
// well.
//
// A process can also be suspended between the check and the request that follows. Connections of a Dialer check before each
// write to the socket, which leaves the time of one system call. They limit how long the kernel continues to send buffered data.
//
// Elapsed time is the larger of two readings, of the monotonic and of the wall clock. The monotonic clock stands still
// while a machine is suspended, and the wall clock may be set back. A virtual machine whose two clocks both stood still
// learns of its suspension only when a renewal fails.
package lease
