package logwriter_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stowage-scheduler/stowage/server/logwriter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logger writes no times.
func logger(log io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLinesKeepTheirOrder(t *testing.T) {
	var log, want bytes.Buffer
	w := logwriter.New(&log, logger)
	line := make([]byte, 0, 16) // one buffer for all lines, as slog has it
	for i := range 1000 {
		line = fmt.Appendf(line[:0], "line %d\n", i)
		if n, err := w.Write(line); n != len(line) || err != nil {
			t.Fatalf("Write returns %d, %v", n, err)
		}
		want.Write(line)
	}
	w.Close(time.Minute)
	if log.String() != want.String() || w.Dropped() != 0 {
		t.Errorf("%d lines were dropped, the log is %q", w.Dropped(), log.String())
	}
}

// stalled is a log that takes nothing until it is released.
type stalled struct {
	release chan struct{}
	log     bytes.Buffer
}

func (s *stalled) Write(line []byte) (int, error) {
	<-s.release
	return s.log.Write(line)
}

// TestStalledLogStallsNobody expects that all lines are accepted at once, that memory is bounded by lines and by bytes, and that
// the log has the number of lost lines.
func TestStalledLogStallsNobody(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		kept int // and perhaps one more, which is being written
	}{
		{"short lines", 100, 4096},
		{"long lines", 1 << 20, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := &stalled{release: make(chan struct{})}
			w := logwriter.New(log, logger)
			line := []byte(strings.Repeat("x", test.size-1) + "\n")
			const writers, lines = 8, 1000
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for range lines {
						_, _ = w.Write(line)
					}
				})
			}
			all.Wait()
			dropped := w.Dropped()
			if kept := writers*lines - int(dropped); kept < test.kept || kept > test.kept+1 {
				t.Errorf("%d lines are kept, want %d", kept, test.kept)
			}
			w.Close(time.Millisecond)
			close(log.release)
			w.Close(time.Minute)
			want := strings.Repeat(string(line), writers*lines-int(dropped)) +
				fmt.Sprintf("level=WARN msg=\"log lines were dropped\" lines=%d\n", dropped)
			if log.log.String() != want {
				t.Errorf("the log has %d bytes, want %d", log.log.Len(), len(want))
			}
		})
	}
}

// full is a log on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRefusedLinesAreCounted(t *testing.T) {
	w := logwriter.New(full{}, logger)
	for range 3 {
		_, _ = w.Write([]byte("line\n"))
	}
	w.Close(time.Minute)
	if w.Dropped() != 3 {
		t.Errorf("%d lines were dropped, want 3", w.Dropped())
	}
}
