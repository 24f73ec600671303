// Package lease tells a leader, right before it acts, whether it still holds its lease.
//
// client-go's leader election looks at the lease at intervals, each with a deadline that begins when the process looks. A
// process that hung (a stopped process, a throttled cgroup, a suspended machine) therefore leads on for up to a deadline after
// it woke, though another may have taken over. A Lock remembers when the last successful renewal began, and by that every
// caller decides for itself, at the time of each call, without asking anybody:
//
//	lock := lease.New(resourceLock, renewDeadline) // given to the leader election
//	term := lock.Term()                            // before deciding
//	if lock.Term() != term {                       // before acting
//		// decide anew
//	}
//
// Between a look and the request that follows it a process can hang as well. Connections of Lock.Dial look before each write
// to the socket, which leaves the time of one system call.
//
// Elapsed time is the larger of two readings, of the monotonic and of the wall clock. The monotonic clock stands still while a
// machine is suspended, and the wall clock may be set back. A virtual machine whose clocks both stood still knows that it hung only
// once a renewal fails.
package lease
