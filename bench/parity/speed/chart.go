package speed

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The picture's measures, in pixels, and its colours, which stand out against white and against black alike.
const (
	chartWidth = 900
	labelWidth = 380
	rowHeight  = 22
	barHeight  = 12
	headHeight = 46
	rightSpace = 80

	inkColour    = "#78838f"
	gridColour   = "#78838f40"
	barColour    = "#3a86d1"
	brokenColour = "#d9534f"
	mustColour   = "#c98a10"
	aimColour    = "#35a06a"
)

// bar is a value on a logarithmic axis with what is promised of it.
type bar struct {
	label            string
	value, must, aim float64
	broken           bool
}

// panel is bars that share an axis.
type panel struct {
	title string
	bars  []bar
}

// Chart writes the report's picture as SVG.
func (r *Report) Chart(w io.Writer) error {
	panels := []panel{r.floors(), r.speedups()}
	height := 30
	for _, p := range panels {
		height += p.height()
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" font-family="system-ui, sans-serif" font-size="12" fill="%s">`+"\n",
		chartWidth, height, chartWidth, inkColour)
	y := 0
	for _, p := range panels {
		p.draw(&out, y)
		y += p.height()
	}
	x := labelWidth
	for _, mark := range []struct{ colour, name string }{{mustColour, "must"}, {aimColour, "aim"}} {
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="3" height="16" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			x, y+4, mark.colour, x+8, y+16, mark.name)
		x += 70
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// floors are the ratios that are better the lower they are.
func (r *Report) floors() panel {
	p := panel{title: "Times the floor of the row, or what it is against (shorter is better)"}
	for _, f := range r.Figures {
		if at := f.promise; at.Unit == "x" && at.Must != 0 && f.measured {
			p.bars = append(p.bars, bar{at.What, f.Value, at.Must, at.Aim, f.verdict(false) == mustBroken})
		}
	}
	return p
}

// speedups are kube-scheduler's times over Stowage's, on the big cluster.
func (r *Report) speedups() panel {
	p := panel{title: "Filter and Score by address: times faster than kube-scheduler's own plugins, 5,000 nodes, 2 cores (longer is better)"}
	promises := map[string]*promise{}
	for _, f := range r.Figures {
		promises[f.promise.Key] = f.promise
	}
	for _, v := range r.Versus {
		if v.Nodes != bigNodes || v.Procs != 2 {
			continue
		}
		b := bar{label: v.Case, value: ratio(v.Kube.wall, v.Seen.wall)}
		if at := promises["kube-"+v.Kind]; at != nil {
			b.must, b.aim, b.broken = at.Must, at.Aim, b.value < at.Must
		}
		p.bars = append(p.bars, b)
	}
	return p
}

func (p *panel) height() int {
	if len(p.bars) == 0 {
		return 0
	}
	return headHeight + len(p.bars)*rowHeight + 14
}

func (p *panel) draw(out *strings.Builder, y int) {
	if len(p.bars) == 0 {
		return
	}
	low, high := 1.0, 10.0
	for _, b := range p.bars {
		low, high = min(low, b.value), max(high, b.value, b.must, b.aim)
	}
	x := func(v float64) float64 {
		return labelWidth + math.Log(v/low)/math.Log(high/low)*(chartWidth-labelWidth-rightSpace)
	}
	fmt.Fprintf(out, `<text x="0" y="%d" font-weight="bold">%s</text>`+"\n", y+16, html.EscapeString(p.title))
	bottom := y + headHeight + len(p.bars)*rowHeight
	for _, v := range ticks(low, high) {
		fmt.Fprintf(out, `<path d="M%.1f %dV%d" stroke="%s"/><text x="%.1f" y="%d" text-anchor="middle" font-size="10">%gx</text>`+"\n",
			x(v), y+headHeight-8, bottom, gridColour, x(v), y+headHeight-12, v)
	}
	for i, b := range p.bars {
		b.draw(out, y+headHeight+i*rowHeight, x)
	}
}

// ticks are the values that the axis names: 1, 2 and 5 of each decade, or 1 alone where there are many.
func ticks(low, high float64) []float64 {
	steps := []float64{1, 2, 5}
	if high/low > 100 {
		steps = steps[:1]
	}
	var out []float64
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, step := range steps {
			if v := decade * step; v >= low && v <= high {
				out = append(out, v)
			}
		}
	}
	return out
}

func (b *bar) draw(out *strings.Builder, y int, x func(float64) float64) {
	colour := barColour
	if b.broken {
		colour = brokenColour
	}
	from, to := x(1), x(b.value)
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-8, y+barHeight-1, html.EscapeString(b.label))
	fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`, min(from, to), y, max(1, math.Abs(to-from)), barHeight, colour)
	for _, mark := range []struct {
		at     float64
		colour string
	}{{b.must, mustColour}, {b.aim, aimColour}} {
		if mark.at > 0 {
			fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="3" height="%d" fill="%s"/>`, x(mark.at)-1.5, y-2, barHeight+4, mark.colour)
		}
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end" font-weight="bold">%sx</text>`+"\n", chartWidth, y+barHeight-1, number(b.value))
}
