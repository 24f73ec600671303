// Package loopback has addresses and listeners for tests whose servers stop and come back.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"
)

// Host is a loopback address whose ports no other process uses, so that a listener can come back later. Ports of 127.0.0.1
// may be taken by then; only Linux has more addresses.
func Host() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// Listen listens at an address that may still be in use for a moment.
func Listen(t testing.TB, address string) (l net.Listener) {
	t.Helper()
	InTime(t, func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l
}

// InTime retries until it succeeds, and fails the test after 30 s.
func InTime(t testing.TB, try func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
