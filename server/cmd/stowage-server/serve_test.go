package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestServe expects that the server says what it does, is ready, and ends well after a stop signal.
func TestServe(t *testing.T) {
	server := exec.CommandContext(t.Context(), "stowage-server", "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
		"--drain-delay=0s")
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for log := bufio.NewScanner(stderr); log.Scan(); {
		var line struct {
			Msg          string
			AdminAddress string `json:"admin_address"`
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Errorf("%s: %v", log.Bytes(), err)
		}
		said = append(said, line.Msg)
		if line.Msg != "serving" {
			continue
		}
		h := healthcheck{AdminAddress: line.AdminAddress, Timeout: time.Minute}
		if err := h.Run(context.Background()); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if out, err := exec.CommandContext(t.Context(), "stowage-server", "healthcheck", "--timeout=1m",
			"--admin-address="+line.AdminAddress).CombinedOutput(); err != nil {
			t.Errorf("healthcheck: %v: %s", err, out)
		}
		if err := server.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"serving", "stopping", "stopped"}, said); d != "" {
		t.Errorf("-want +said:\n%s", d)
	}
}
