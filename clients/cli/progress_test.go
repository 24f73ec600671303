package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// terminal keeps what is written to it.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// until waits until the terminal has a text.
func (t *terminal) until(test *testing.T, text string) {
	test.Helper()
	for range 1000 {
		if strings.Contains(t.String(), text) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	test.Fatalf("no %q in %q", text, t)
}

func TestProgressIsErasedBeforeWhatFollows(t *testing.T) {
	w := &terminal{}
	p := &progressLine{w: w, interval: time.Millisecond}
	want := errors.New("an error")
	err := p.during("deciding", false, func() error {
		w.until(t, "\rstowage: deciding: ")
		fmt.Fprintln(p, "stowage: not read: Secret")
		p.silence()
		before := w.String()
		time.Sleep(10 * time.Millisecond)
		if got := w.String(); got != before {
			t.Errorf("written though silent: %q", got[len(before):])
		}
		return want
	})
	if !errors.Is(err, want) {
		t.Errorf("got error %v", err)
	}
	if got := w.String(); !strings.Contains(got, eraseLine+"\r"+eraseLine+"stowage: not read: Secret\n") {
		t.Errorf("not erased: %q", got)
	}
}

func TestWhatIsFastHasNoProgress(t *testing.T) {
	w := &terminal{}
	p := &progressLine{w: w, interval: time.Hour}
	if err := p.during("reading", false, func() error { return nil }); err != nil || w.String() != "" {
		t.Errorf("%v, %q", err, w)
	}
	if err := (*progressLine)(nil).during("reading", false, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
