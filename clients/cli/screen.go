package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Escape sequences of xterm and compatible terminals.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTheTop    = "\x1b[H"
	eraseLine   = "\x1b[K" // from the cursor on
	eraseBelow  = "\x1b[J"
)

// frameInterval is the minimum interval between frames.
const frameInterval = 100 * time.Millisecond

// isTerminal reports whether w is a terminal that can draw frames.
func isTerminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// screen redraws the answer as it arrives, on the alternate screen, so that nothing remains and the terminal may be
// resized. It appears after the first interval: faster answers need no progress.
type screen struct {
	w       io.Writer
	size    func() (columns, rows int)
	now     func() time.Time
	last    *stowagev1.PlaceStreamResponse
	start   time.Time
	shown   bool
	drawing time.Duration // duration of the last frame
}

func newScreen(w io.Writer, terminal *os.File) *screen {
	s := &screen{w: w, now: time.Now, start: time.Now(), last: &stowagev1.PlaceStreamResponse{}}
	s.size = func() (int, int) {
		columns, rows, err := term.GetSize(int(terminal.Fd()))
		if err != nil || columns == 0 || rows == 0 {
			return 80, 24
		}
		return columns, rows
	}
	return s
}

func (s *screen) part(part *stowagev1.PlaceStreamResponse, _ *place.Answer) error {
	s.last = part
	return nil
}

// interval leaves most of the time to the response.
func (s *screen) interval() time.Duration { return max(frameInterval, 5*s.drawing) }

func (s *screen) tick(so *place.Answer) {
	start := s.now()
	columns, rows := s.size()
	var picture bytes.Buffer
	text.DrawPlace(&picture, so, text.Style{Width: columns}) // lines are cut below
	var frame strings.Builder
	if !s.shown {
		frame.WriteString(enterScreen)
		s.shown = true
	}
	frame.WriteString(toTheTop)
	all := append([]string{progress(s.last, uint32(target.Count(so.Snapshot.Queue)), start.Sub(s.start), columns), ""},
		strings.Split(strings.TrimSuffix(picture.String(), "\n"), "\n")...)
	if len(all) >= rows && rows > 1 {
		rest := len(all) - rows + 2
		all = append(all[:len(all)-rest], fmt.Sprintf("… %d more lines", rest))
	}
	for _, line := range all {
		frame.WriteString(cut(quote.Line(line), columns) + eraseLine + "\r\n")
	}
	frame.WriteString(eraseBelow)
	fmt.Fprint(s.w, frame.String())
	s.drawing = s.now().Sub(start)
}

func (s *screen) close() {
	if s.shown {
		fmt.Fprint(s.w, leaveScreen)
	}
}

// progress is the progress line of the queue.
func progress(last *stowagev1.PlaceStreamResponse, total uint32, spent time.Duration, width int) string {
	done := last.GetPlacedCount() + last.GetUnplacedCount()
	text := fmt.Sprintf(" %d of %d pods", done, total)
	if last.GetUnplacedCount() > 0 {
		text += fmt.Sprintf(", %d without a node", last.GetUnplacedCount())
	}
	text += ", " + spent.Truncate(time.Second).String()
	if done > 0 && done < total && spent >= time.Second {
		left := time.Duration(float64(spent) / float64(done) * float64(total-done))
		text += fmt.Sprintf(", %s left", max(time.Second, left.Truncate(time.Second)))
	}
	bar := max(0, min(40, width-utf8.RuneCountInString(text)-2))
	filled := 0
	if total > 0 {
		filled = int(uint64(bar) * uint64(done) / uint64(total))
	}
	return "[" + strings.Repeat("█", filled) + strings.Repeat("░", bar-filled) + "]" + text
}

func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width])
}
