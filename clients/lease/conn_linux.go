package lease

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall lacks.
const tcpUserTimeout = 18

// acknowledgedWithin makes a connection fail if sent data is not acknowledged within a duration.
func acknowledgedWithin(c *net.TCPConn, limit time.Duration) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(limit.Milliseconds()))
	})
	return errors.Join(err, os.NewSyscallError("setsockopt", failed))
}
