//go:build !js

package cli

import (
	"fmt"
	"strings"
	"time"

	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"

	"github.com/stowage-scheduler/stowage/server/version"
)

// manCommand prints the manual page, which is generated from the grammar.
type manCommand struct{}

// Run is called by kong.
func (*manCommand) Run(s *session) error {
	a, node := *s.application, *s.application.Node
	title, rest, _ := strings.Cut(node.Help, "\n")
	node.Help = title + "\n" + strings.Join(strings.Fields(rest), " ") // roff breaks the lines
	a.Node = &node
	text := mangokong.NewManPage(1, &a).Build(undated{roff.NewDocument()})
	text = strings.Replace(text, noDay.Format(time.DateOnly), version.Current(), 1)
	_, err := fmt.Fprint(s.stdout, text)
	return err
}

// noDay stands for the day on which a page is printed: a release has one page.
var noDay = time.Time{}

// undated is a manual page without that day.
type undated struct{ *roff.Document }

// Heading writes the first line, with what man shows in the middle of the page's top.
func (d undated) Heading(section uint, title, _ string, _ time.Time) {
	d.Document.Heading(section, title, "User Commands", noDay)
}
