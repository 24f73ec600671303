package speed

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// filled is a report in which every promise is kept just so, but for one that is broken.
func filled(t *testing.T) *Report {
	t.Helper()
	r, err := newReport()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures {
		r.set(f.promise.Key, f.promise.Must)
	}
	r.setRatio("filter-seen", timing{300 * time.Microsecond, 210}, timing{100 * time.Microsecond, 60})
	cases, err := readCases()
	if err != nil {
		t.Fatal(err)
	}
	for _, procs := range []int{2, 1} {
		for _, c := range cases {
			r.Versus = append(r.Versus, &Versus{
				Nodes: bigNodes, Procs: procs, Case: c.Name, Kind: c.Kind,
				Kube: timing{50 * time.Millisecond, 90 * time.Millisecond}, Seen: timing{100 * time.Microsecond, 100 * time.Microsecond},
			})
		}
	}
	r.Forms = []*Forms{{
		Nodes: 15_000, Procs: 2, Case: plain, Empty: timing{wall: 100 * time.Microsecond}, Echo: timing{wall: time.Millisecond},
		Seen: timing{wall: 120 * time.Microsecond}, First: timing{wall: 300 * time.Microsecond},
		Delta: timing{wall: 700 * time.Microsecond}, Inline: timing{wall: 7 * time.Millisecond},
	}}
	return r
}

func TestBroken(t *testing.T) {
	if got := filled(t).Broken(); !slices.Equal(got, []string{"filter-seen"}) {
		t.Errorf("broken: %v", got)
	}
}

func TestBrokenOnBothClocks(t *testing.T) {
	for what, c := range map[string]struct {
		wall, cpu time.Duration
		broken    bool
	}{"both": {900, 900, true}, "the clock": {900, 90, false}, "neither": {90, 90, false}} {
		for _, small := range []bool{false, true} {
			r, err := newReport()
			if err != nil {
				t.Fatal(err)
			}
			r.Small = small
			r.setRatio("filter-seen", timing{c.wall, c.cpu}, timing{60, 60})
			if got := len(r.Broken()) > 0; got != c.broken {
				t.Errorf("%s, small %t: broken %v", what, small, got)
			}
		}
	}
}

// A ratio that is larger in processor time has a bound of its own there.
func TestMustInProcessorTime(t *testing.T) {
	for what, c := range map[string]struct {
		wall, cpu time.Duration
		broken    bool
	}{"the clock": {900, 480, false}, "the processor": {400, 900, false}, "both": {430, 510, true}} {
		r, err := newReport()
		if err != nil {
			t.Fatal(err)
		}
		r.setRatio("inline-compact", timing{c.wall, c.cpu}, timing{100, 100})
		if got := len(r.Broken()) > 0; got != c.broken {
			t.Errorf("%s: broken %v", what, got)
		}
	}
}

func TestTables(t *testing.T) {
	for name, print := range map[string]func(*Report, io.Writer) error{"text": (*Report).Print, "Markdown": (*Report).Markdown} {
		var text strings.Builder
		if err := print(filled(t), &text); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"BROKEN", "300 us", "3.5x", "500x", "15,000", "700 us, 7.0x", "7.0 ms, 7.0x"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text.String())
			}
		}
	}
}

func TestChartIsXML(t *testing.T) {
	var text strings.Builder
	if err := filled(t).Chart(&text); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(text.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for value, want := range map[float64]string{0.0843: "0.084", 1.26: "1.3", 47.4: "47", 999.4: "999", 12345.6: "12,346"} {
		if got := number(value); got != want {
			t.Errorf("%v: got %s, want %s", value, got, want)
		}
	}
}
