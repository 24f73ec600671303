package speed

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// table is rows of cells under a head.
type table struct {
	head []string
	rows [][]string
}

// Print writes the tables for a terminal.
func (r *Report) Print(w io.Writer) error {
	return r.each(w, func(t table) error {
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.head}, t.rows...) {
			fmt.Fprintln(out, strings.Join(row, "\t"))
		}
		return out.Flush()
	})
}

// Markdown writes the tables for a document.
func (r *Report) Markdown(w io.Writer) error {
	return r.each(w, func(t table) error {
		rule := strings.Repeat("|---", len(t.head)) + "|"
		lines := []string{"| " + strings.Join(t.head, " | ") + " |", rule}
		for _, row := range t.rows {
			lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		}
		_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	})
}

func (r *Report) each(w io.Writer, print func(table) error) error {
	fmt.Fprintf(w, "On %s.\n\n", r.Machine)
	if err := print(r.figures()); err != nil {
		return err
	}
	if len(r.Versus) > 0 {
		fmt.Fprint(w, "\nFilter and Score by address against kube-scheduler's own plugins on the same decision:\n\n")
		if err := print(r.versusTable()); err != nil {
			return err
		}
	}
	if len(r.Forms) == 0 {
		return nil
	}
	fmt.Fprint(w, "\nFilter, by the form of the cluster, against an empty call, and in the request against an echo of it:\n\n")
	return print(r.statedTable())
}

func (r *Report) figures() table {
	t := table{head: []string{"", "measured", "against", "must", "aim", "kept", "on the clock", "in processor time"}}
	if r.Small {
		t.head[3], t.head[4] = "never", ""
	}
	for _, f := range r.Figures {
		p := f.promise
		must, aim := p.Must, p.Aim
		if r.Small {
			must, aim = p.Never, 0
		}
		row := []string{p.What, "", p.Against, p.quantity(must), p.quantity(aim), f.verdict(r.Small), "", ""}
		if f.measured {
			row[1] = p.quantity(f.Value)
		}
		if f.Wall > 0 && p.Unit != "ms" {
			row[6] = duration(f.Wall)
		}
		if f.Processor > 0 {
			row[7] = p.quantity(f.Processor)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r *Report) versusTable() table {
	t := table{head: []string{
		"nodes", "case", "kube-scheduler, 2 cores", "Stowage", "times faster", "new template", "in processor time", "times faster, 1 core",
	}}
	byCase := map[string]*Versus{}
	for _, v := range r.Versus {
		byCase[v.of()] = v
	}
	for _, two := range r.Versus {
		if two.Procs != 2 {
			continue
		}
		one := byCase[Versus{Nodes: two.Nodes, Procs: 1, Case: two.Case}.of()]
		t.rows = append(t.rows, []string{
			thousands(two.Nodes), two.Case, duration(two.Kube.wall), duration(two.Seen.wall),
			times(two.Kube.wall, two.Seen.wall), times(two.Kube.wall, two.First.wall),
			times(two.Kube.cpu, two.Seen.cpu), times(one.Kube.wall, one.Seen.wall),
		})
	}
	return t
}

func (r *Report) statedTable() table {
	t := table{head: []string{
		"nodes", "case", "cores", "by address", "by address, new template", "by address with a delta", "in the request, compact",
	}}
	against := func(of, floor timing) string { return duration(of.wall) + ", " + times(of.wall, floor.wall) }
	for _, s := range r.Forms {
		t.rows = append(t.rows, []string{
			thousands(s.Nodes), s.Case, fmt.Sprint(s.Procs), against(s.Seen, s.Empty), against(s.First, s.Empty),
			against(s.Delta, s.Empty), against(s.Inline, s.Echo),
		})
	}
	return t
}

// of names the decision.
func (v Versus) of() string { return fmt.Sprint(v.Nodes, v.Procs, v.Case) }

func times(a, b time.Duration) string { return number(ratio(a, b)) + "x" }

// quantity is a value in the row's unit; nothing for 0.
func (p *promise) quantity(value float64) string {
	switch {
	case value == 0:
		return ""
	case p.Unit == "x", p.Unit == "times faster":
		return number(value) + "x"
	default:
		return number(value) + " " + p.Unit
	}
}

// number writes a value with two digits that say something, and the whole of a larger one.
func number(v float64) string {
	switch {
	case v >= 1000:
		return thousands(int(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return number(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return number(d.Seconds()*1e3) + " ms"
	default:
		return number(d.Seconds()*1e6) + " us"
	}
}
