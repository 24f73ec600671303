package html

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/quote"
)

// markup writes elements. Package html/template would, too, but looks methods up by names that it computes, and a program that does so keeps
// all methods of all types: the program for browsers would have twice its size.
type markup struct{ w io.Writer }

// escaper escapes text, also in attributes in double quotes.
var escaper = strings.NewReplacer(
	"\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;",
)

// trusted is text that is part of the program.
type trusted string

// write writes a format. Everything that is formatted is a number, or is escaped.
func (m markup) write(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case int, trusted:
		default:
			args[i] = escaper.Replace(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(m.w, format, args...)
}

// written calls write, and returns the error of the first write to w that failed.
func written(w io.Writer, write func(markup)) error {
	buffer := bufio.NewWriter(w)
	write(markup{quote.XML(buffer)}) // whole texts: the buffer would cut letters in two
	return buffer.Flush()
}

func (m markup) page(p *Page) {
	m.write(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
%s%s</style>
</head>
<body>
<h1>%s</h1>
<p class="verdict %s">%s</p>`, p.Title, style("style.css"), style("picture.css"), p.Title, p.tone(), p.Verdict)
	for _, note := range p.Notes {
		m.write("\n<p>%s</p>", note)
	}
	if d := p.drawing(); d.Boxes > 0 {
		m.write("\n<div class=\"scroll picture-frame\">\n")
		m.picture(d)
		m.write("</div>")
	}
	tables := bounded(p.Sections)
	for i := range tables {
		if s := &tables[i]; !s.Folded {
			if s.Title != "" {
				m.write("\n<h2>%s</h2>", s.Title)
			}
			m.section(s)
		}
	}
	for i := range tables {
		if s := &tables[i]; s.Folded {
			m.write("\n<details><summary>%s</summary>", s.Title)
			m.section(s)
			m.write("\n</details>")
		}
	}
	m.write("\n</body>\n</html>\n")
}

func (m markup) section(s *Section) {
	for _, text := range s.Text {
		m.write("\n<p>%s</p>", text)
	}
	if len(s.List) > 0 {
		m.write("\n<ul>")
		for _, item := range s.List {
			m.write("\n<li>%s</li>", item)
		}
		m.write("\n</ul>")
	}
	if s.Plain != "" {
		m.write("\n<pre>%s</pre>", s.Plain)
	}
	if len(s.Rows) == 0 {
		return
	}
	m.write("\n<div class=\"scroll\"><table>\n<tr>")
	for _, name := range s.Columns {
		m.write("<th>%s</th>", name)
	}
	m.write("</tr>")
	for _, row := range s.Rows {
		m.write("\n<tr>")
		for _, cell := range row {
			m.write("<td>%s</td>", cell)
		}
		m.write("</tr>")
	}
	m.write("\n</table></div>")
}

func (m markup) picture(d *drawing) {
	m.write(`<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`,
		d.Width, d.Height, d.Width, d.Height)
	if d.Style != "" {
		m.write("\n<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>", d.Style, d.Width, d.Height)
	}
	m.write("\n<title>%s: %s</title>", d.Title, d.Verdict)
	m.lines("\n", d.Head)
	for i := range d.Domains {
		m.panel(&d.Domains[i])
	}
	m.lines("\n", d.Pending)
	if len(d.Legend) > 0 {
		m.write("\n<g class=\"legend\">")
		for _, k := range d.Legend {
			m.write("\n"+`<g class="key" transform="translate(%d %d)"><rect class="%s" x="1" y="1" width="10" height="8" rx="1"/><text x="16" y="9">%s</text></g>`,
				k.X, k.Y, k.Class, k.Text)
		}
		m.write("\n</g>")
	}
	m.write("\n</svg>\n")
}

func (m markup) lines(before string, all []line) {
	for _, l := range all {
		m.write(before+`<text class="%s" x="%d" y="%d">%s</text>`, l.Class, l.X, l.Y, l.Text)
	}
}

func (m markup) panel(p *panel) {
	m.write("\n"+`<g class="panel" transform="translate(%d %d)"><title>%s</title><rect class="domain" width="%d" height="%d" rx="6"/>`,
		p.X, p.Y, p.Text, p.Width, p.Height)
	m.lines("\n", p.Lines)
	for i := range p.Boxes {
		m.box(&p.Boxes[i])
	}
	m.write("</g>")
}

func (m markup) box(b *box) {
	m.write("\n"+`<g class="node %s" transform="translate(%d %d)"><title>%s</title><rect width="%d" height="%d" rx="4"/><text class="name" x="8" y="14">%s</text>`,
		b.State, b.X, b.Y, b.Text, b.Width, b.Height, b.Name)
	for _, r := range b.Bars {
		m.write(`<path class="bar" d="M%d %dh%dv5h-%dz"/><path class="%s" d="M%d %dh%dv5h-%dz"/>`,
			r.X, r.Y, r.Full, r.Full, r.Class, r.X, r.Y, r.Width, r.Width)
	}
	m.lines("", b.Labels)
	for _, l := range b.Pods {
		m.write("\n"+`<path class="pod %s" d="M8 %dm0 -4h8"/><text class="%s" x="%d" y="%d">%s</text>`, l.Class, l.Y, l.Class, l.X, l.Y, l.Text)
	}
	for _, s := range []struct{ class, path string }{{"added", b.Added}, {"there", b.There}, {"gone", b.Gone}} {
		if s.path != "" {
			m.write(`<path class="squares %s" d="%s"/>`, s.class, s.path)
		}
	}
	m.write("</g>")
}
