package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/bench/load/report"
	"github.com/stowage-scheduler/stowage/bench/loopback"
)

func TestLatencyCountsFromWhenACallWasDue(t *testing.T) {
	d := dial(t)
	var err error
	if d.want, err = d.call(); err != nil {
		t.Fatal(err)
	}
	r := d.send(time.Millisecond, 50*time.Millisecond)
	path := filepath.Join(t.TempDir(), "report.json")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	if r, err = report.Read(path); err != nil {
		t.Fatal(err)
	}
	if r.Count != 50 || r.StatusCodeDistribution["OK"] != 50 {
		t.Errorf("got %+v, want 50 calls", r)
	}
	worst, err := r.At(99)
	if err != nil {
		t.Fatal(err)
	}
	if worst < r.Lag {
		t.Errorf("calls were sent up to %v late, and took %v", r.Lag, worst)
	}
}

func TestAnotherAnswerFails(t *testing.T) {
	d := dial(t)
	d.want = []byte("another")
	path := filepath.Join(t.TempDir(), "report.json")
	if err := d.send(time.Millisecond, 2*time.Millisecond).Write(path); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Read(path); err == nil {
		t.Error("a wrong answer went unnoticed")
	}
}

func dial(t *testing.T) *driver {
	t.Helper()
	server, err := loopback.ServeEcho()
	if err != nil {
		t.Fatal(err)
	}
	client, err := loopback.Dial(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), server.Stop()); err != nil {
			t.Error(err)
		}
	})
	return &driver{client: client}
}
