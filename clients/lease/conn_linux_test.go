package lease

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// The kernel neither goes on sending for longer than a request may take, nor after the connection is closed.
func TestAConnectionDoesNotGoOnSending(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dial := Dialer(func() uint64 { return 1 }, 4*time.Second)
	dialled, err := dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	raw, err := dialled.(conn).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var limit int
	var failed error
	err = raw.Control(func(fd uintptr) { limit, failed = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout) })
	if err := errors.Join(err, failed); err != nil || limit != 4000 {
		t.Errorf("data is sent for %d ms, %v; want 4000", limit, err)
	}
	dialled.Close()
	if _, err := accepted.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ends with %v, not at once", err)
	}
}
