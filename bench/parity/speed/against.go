package speed

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Measured is a row of a run as JSON, for a comparison with another run.
type Measured struct {
	Key       string  `json:"key"`
	What      string  `json:"what"`
	Unit      string  `json:"unit"`
	AtLeast   bool    `json:"atLeast,omitempty"`
	Value     float64 `json:"value"`
	Processor float64 `json:"processor,omitempty"`
}

// JSON writes the rows that were measured and that something is promised of.
func (r *Report) JSON(w io.Writer) error {
	rows := []Measured{}
	for _, f := range r.Figures {
		if p := f.promise; f.measured && f.Value > 0 && (p.Must != 0 || p.Aim != 0) {
			rows = append(rows, Measured{p.Key, p.What, p.Unit, p.AtLeast, f.Value, f.Processor})
		}
	}
	return json.NewEncoder(w).Encode(rows)
}

// Loss is what a row may lose in a comparison: one part in twenty.
const Loss = 1.05

// Comparison is a row of two builds that took turns.
type Comparison struct {
	Measured
	// New and Old are medians, in processor time where the row has one.
	New, Old float64
	// Ratio is what the new build costs, as a ratio to the old one: more than 1 is a loss. Slower is in how many of the rounds it cost
	// more.
	Ratio          float64
	Slower, Rounds int
}

// Lost reports a loss that other work on the machine does not explain: it is more than one part in twenty, and in all rounds but one at
// most of every four.
func (c *Comparison) Lost() bool { return c.Ratio > Loss && c.Slower >= c.Rounds-c.Rounds/4 }

// Compare compares the rounds of two builds, row by row. Rows that one of them lacks are left out.
func Compare(newer, older [][]Measured) []Comparison {
	var out []Comparison
	for _, row := range newer[0] {
		c := Comparison{Measured: row}
		var a, b []float64
		for i := range newer {
			x, y := valueOf(newer[i], row.Key), valueOf(older[i], row.Key)
			if x == 0 || y == 0 {
				continue
			}
			a, b = append(a, x), append(b, y)
			if c.Rounds++; row.cost(x, y) > 1 {
				c.Slower++
			}
		}
		if c.Rounds == 0 {
			continue
		}
		c.New, c.Old = median(a), median(b)
		c.Ratio = row.cost(c.New, c.Old)
		out = append(out, c)
	}
	return out
}

// cost is what the first of two values costs, as a ratio to the second.
func (m *Measured) cost(of, to float64) float64 {
	if m.AtLeast {
		return to / of
	}
	return of / to
}

// valueOf is the value of a row, in processor time if it has one; 0 without the row.
func valueOf(rows []Measured, key string) float64 {
	for _, m := range rows {
		if m.Key == key {
			if m.Processor > 0 {
				return m.Processor
			}
			return m.Value
		}
	}
	return 0
}

// PrintComparisons writes a table, and returns how many rows lost.
func PrintComparisons(w io.Writer, all []Comparison) (lost int, err error) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\tbefore\tafter\tcosts\tslower in rounds\t")
	for _, c := range all {
		verdict := ""
		if c.Lost() {
			verdict = "LOST"
			lost++
		}
		p := promise{Unit: c.Unit}
		fmt.Fprintf(out, "%s: %s\t%s\t%s\t%.2fx\t%d of %d\t%s\n", c.Key, c.What, p.quantity(c.Old), p.quantity(c.New), c.Ratio, c.Slower, c.Rounds, verdict)
	}
	return lost, out.Flush()
}
