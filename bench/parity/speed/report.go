package speed

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

//go:embed thresholds.yaml
var thresholdsFile []byte

// promise is a row of the table, with what is promised of it.
type promise struct {
	Key     string `json:"key"`
	What    string `json:"what"`
	Against string `json:"against,omitempty"`
	Unit    string `json:"unit"`
	// AtLeast says that more is better.
	AtLeast bool `json:"atLeast,omitempty"`
	// MustProcessor is Must for the ratio in processor time, where it is another one.
	MustProcessor float64 `json:"mustProcessor,omitempty"`
	// Must, Aim and Never are 0 where nothing is promised. Never holds for small clusters too.
	Must  float64 `json:"must,omitempty"`
	Aim   float64 `json:"aim,omitempty"`
	Never float64 `json:"never,omitempty"`
}

func readPromises() ([]*promise, error) {
	var out []*promise
	if err := yaml.UnmarshalStrict(thresholdsFile, &out); err != nil {
		return nil, fmt.Errorf("thresholds.yaml: %w", err)
	}
	return out, nil
}

func (p *promise) keeps(value, bound float64) bool {
	if p.AtLeast {
		return value >= bound
	}
	return value <= bound
}

// Figure is what was measured for a row.
type Figure struct {
	promise *promise
	Value   float64
	// Wall is the time on the clock, and Processor the value in processor time; 0 where there is none.
	Wall      time.Duration
	Processor float64

	measured bool
}

// Verdicts.
const (
	aimKept     = "aim"
	mustKept    = "must"
	mustBroken  = "BROKEN"
	notMeasured = "not measured"
	noPromise   = ""
)

// verdict judges the figure. A loss of Stowage's own shows in processor time as well as on the clock; other work on the machine, or
// a core that wakes late, on one of them.
func (f *Figure) verdict(small bool) string {
	p := f.promise
	bound, inProcessor := p.Must, cmp.Or(p.MustProcessor, p.Must)
	if small {
		bound, inProcessor = p.Never, p.Never
	}
	switch {
	case !f.measured:
		return notMeasured
	case bound == 0:
		return noPromise
	case !p.keeps(f.Value, bound) && (f.Processor == 0 || !p.keeps(f.Processor, inProcessor)):
		return mustBroken
	case !small && p.Aim != 0 && p.keeps(f.Value, p.Aim):
		return aimKept
	default:
		return mustKept
	}
}

// Versus is one decision next to kube-scheduler's.
type Versus struct {
	Nodes, Procs      int
	Case, Kind        string
	Kube, Seen, First timing
}

// Report is what a run came to.
type Report struct {
	Machine string
	Small   bool
	Figures []*Figure
	Versus  []*Versus
	Forms   []*Forms
}

// Broken are the rows whose promise does not hold.
func (r *Report) Broken() []string {
	var out []string
	for _, f := range r.Figures {
		if f.verdict(r.Small) == mustBroken {
			out = append(out, f.promise.Key)
		}
	}
	return out
}

func newReport() (*Report, error) {
	promises, err := readPromises()
	if err != nil {
		return nil, err
	}
	r := &Report{}
	for _, p := range promises {
		r.Figures = append(r.Figures, &Figure{promise: p})
	}
	return r, nil
}

// at returns the row's figure, which counts as measured from then on.
func (r *Report) at(key string) *Figure {
	i := slices.IndexFunc(r.Figures, func(f *Figure) bool { return f.promise.Key == key })
	if i < 0 {
		panic("thresholds.yaml has no row " + key)
	}
	r.Figures[i].measured = true
	return r.Figures[i]
}

// set fills in a value.
func (r *Report) set(key string, value float64) { r.at(key).Value = value }

// setRatio fills in a ratio of times.
func (r *Report) setRatio(key string, of, to timing) {
	f := r.at(key)
	f.Value, f.Wall, f.Processor = ratio(of.wall, to.wall), of.wall, ratio(of.cpu, to.cpu)
}

// setTime fills in a time, in milliseconds.
func (r *Report) setTime(key string, of timing) {
	f := r.at(key)
	f.Value, f.Wall, f.Processor = of.wall.Seconds()*1000, of.wall, of.cpu.Seconds()*1000
}

// setRate fills in how much is done in a second.
func (r *Report) setRate(key string, amount float64, in timing) {
	f := r.at(key)
	f.Value, f.Wall, f.Processor = amount/in.wall.Seconds(), in.wall, amount/max(1e-9, in.cpu.Seconds())
}
