// Package logwriter keeps a log with a stalled reader from stalling its writers.
//
// Write copies a line into a bounded queue and returns. One goroutine writes the lines of the queue, in order, to the log. Lines
// that find the queue full, and lines that the log refuses (a full disk), are dropped and counted.
package logwriter

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the queue.
const (
	maxLines = 4096
	maxBytes = 4 << 20
)

// Writer is a log's writer. It is safe for concurrent use. One call of Write is one line.
type Writer struct {
	log     io.Writer
	logger  *slog.Logger // to the log itself
	lines   chan []byte
	bytes   atomic.Int64
	dropped atomic.Int64
	closing chan struct{}
	close   sync.Once
	closed  chan struct{}
}

// New returns a Writer to a log. When the log accepts lines again after some were dropped, a line reports their number, in the
// format of the given loggers. The caller must Close the Writer.
func New(log io.Writer, logger func(io.Writer) *slog.Logger) *Writer {
	w := &Writer{
		log: log, logger: logger(log),
		lines: make(chan []byte, maxLines), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write implements io.Writer. It never blocks and never fails.
func (w *Writer) Write(line []byte) (int, error) {
	size := int64(len(line))
	if w.bytes.Add(size) > maxBytes {
		w.bytes.Add(-size)
		w.dropped.Add(1)
		return len(line), nil
	}
	select {
	case w.lines <- append([]byte(nil), line...):
	default:
		w.bytes.Add(-size)
		w.dropped.Add(1)
	}
	return len(line), nil
}

// Dropped is the number of lines that were dropped.
func (w *Writer) Dropped() int64 { return w.dropped.Load() }

// Close writes the lines of the queue, for at most the given time. Later lines are lost.
func (w *Writer) Close(timeout time.Duration) {
	w.close.Do(func() { close(w.closing) })
	select {
	case <-w.closed:
	case <-time.After(timeout):
	}
}

func (w *Writer) run() {
	defer close(w.closed)
	var reported int64
	for {
		select {
		case line := <-w.lines:
			w.write(line)
		case <-w.closing:
			for {
				select {
				case line := <-w.lines:
					w.write(line)
					continue
				default:
				}
				w.reportDropped(&reported)
				return
			}
		}
		if len(w.lines) == 0 {
			w.reportDropped(&reported)
		}
	}
}

func (w *Writer) write(line []byte) {
	if _, err := w.log.Write(line); err != nil {
		w.dropped.Add(1)
	}
	w.bytes.Add(-int64(len(line)))
}

// reportDropped logs the number of lines that were dropped since the last report.
func (w *Writer) reportDropped(reported *int64) {
	dropped := w.dropped.Load()
	if dropped > *reported {
		w.logger.Warn("log lines were dropped", "lines", dropped-*reported)
		*reported = dropped
	}
}
