//go:build !linux

package lease

import (
	"net"
	"time"
)

// acknowledgedWithin does nothing: the system has no such option.
func acknowledgedWithin(*net.TCPConn, time.Duration) error { return nil }
