package controlplane

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// The ports are below the kernel's ports for outgoing connections, so that a restarted process finds its port still free.
const firstPort, endPort = 20_000, 32_000

var (
	portMutex sync.Mutex
	nextPort  = firstPort + os.Getpid()*37%(endPort-firstPort-1000)
)

// FreePort returns a loopback port that no process listens on, a different one for each call.
func FreePort() (int, error) {
	portMutex.Lock()
	defer portMutex.Unlock()
	for nextPort < endPort {
		port := nextPort
		nextPort++
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}
