package result

import (
	"math"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/render/html"
)

// Paper is a writer that makes sections of a report, which empty lines separate. Indented lines are a list. The line above them is
// the title, as is a first line that ends with a colon.
type Paper struct {
	sections []html.Section
	text     strings.Builder // since the last table
}

// PaperWidth is a width at which reports break no lines.
const PaperWidth = math.MaxInt

// Write takes text.
func (p *Paper) Write(b []byte) (int, error) { return p.text.Write(b) }

// Table takes a table: with the lines right before it if there are some.
func (p *Paper) Table(rows [][]string) {
	text := p.text.String()
	p.flush()
	if len(p.sections) == 0 || strings.HasSuffix("\n"+text, "\n\n") {
		p.sections = append(p.sections, html.Section{})
	}
	last := &p.sections[len(p.sections)-1]
	last.Columns, last.Rows = rows[0], rows[1:]
}

// flush makes sections of the text.
func (p *Paper) flush() {
	for block := range strings.SplitSeq(p.text.String(), "\n\n") {
		if block = strings.Trim(block, "\n"); block != "" {
			p.sections = append(p.sections, sectionOf(strings.Split(block, "\n")))
		}
	}
	p.text.Reset()
}

func sectionOf(lines []string) html.Section {
	var out html.Section
	for _, line := range lines {
		switch text := strings.TrimPrefix(strings.TrimLeft(line, " "), "- "); {
		case strings.HasPrefix(line, "kubectl "):
			out.Plain += line + "\n"
		case strings.HasPrefix(line, " "):
			out.List = append(out.List, text)
		default:
			out.Text = append(out.Text, line)
		}
	}
	out.Plain = strings.TrimSuffix(out.Plain, "\n")
	if strings.HasSuffix(lines[0], ":") || len(out.Text) == 1 && len(out.List) > 0 {
		out.Title, out.Text = strings.TrimSuffix(lines[0], ":"), out.Text[1:]
	}
	return out
}

// Sections returns the first line, and what is below it.
func (p *Paper) Sections() (first string, below []html.Section) {
	p.flush()
	if len(p.sections) == 0 {
		return "", nil
	}
	below = p.sections
	switch s := &below[0]; {
	case s.Title != "":
		first, s.Title = s.Title, ""
	case len(s.Text) > 0:
		first, s.Text = s.Text[0], s.Text[1:]
	}
	return first, below
}
