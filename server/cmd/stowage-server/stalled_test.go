package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestStalledLog expects that a reader of the log who stalls stalls no call, and later learns how many lines it missed.
func TestStalledLog(t *testing.T) {
	server := exec.CommandContext(t.Context(), "stowage-server", "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0",
		"--drain-delay=0s")
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	type line struct {
		Msg, Address string
		Lines        int
	}
	log := json.NewDecoder(bufio.NewReader(stderr))
	var serving line
	if err := log.Decode(&serving); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(serving.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := stowagev1.NewPlacementServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const calls = 8000 // more than the pipe and the queue take
	for i := range calls {
		if _, err := client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if err := server.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	logged, dropped := 0, 0
	for {
		var l line
		if log.Decode(&l) != nil {
			break
		}
		switch l.Msg {
		case "finished call":
			logged++
		case "log lines were dropped":
			dropped += l.Lines
		}
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	if dropped == 0 || logged+dropped < calls || logged+dropped > calls+2 { // "stopping" and "stopped" may be among the dropped
		t.Errorf("of %d calls %d are in the log and %d lines were dropped", calls, logged, dropped)
	}
}
