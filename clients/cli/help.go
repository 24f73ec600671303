package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/server/version"
)

// flagGroups are the flags that many commands share. A command prints its own before them.
var flagGroups = []kong.Group{
	{Key: "input", Title: "Input flags:"},
	{Key: "output", Title: "Output flags:"},
	{Key: "server", Title: "Server flags:"},
	{Key: "ties", Title: "Flags for ties between nodes:"},
	{Key: "general", Title: "General flags:"},
}

// helpCommand prints what --help prints.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to describe. Default: all commands."`
}

// Run is called by kong.
func (c *helpCommand) Run(s *session) error {
	_, err := s.parser.Parse(append(c.Command, "--help")) // which leaves by exited
	return err
}

// versionCommand prints what --version prints.
type versionCommand struct{}

// Run is called by kong.
func (*versionCommand) Run(s *session) error {
	_, err := fmt.Fprintln(s.stdout, version.Current())
	return err
}

// examplesOf are the examples of a command, each a command line of its tag, or of all commands without one.
func examplesOf(application *kong.Application, command *kong.Node) []string {
	if command != nil {
		return strings.Split(command.Tag.Get("example"), "; ")
	}
	var out []string
	for _, c := range commandsOf(application) {
		if first := examplesOf(application, c)[0]; c.Tag.Has("starts") {
			out = append(out, first)
		}
	}
	return out
}

// printHelp prints examples, then the usage with the command's own flags before the flags that many share.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	title := "Example:"
	examples := examplesOf(ctx.Model, ctx.Selected())
	if len(examples) > 1 {
		title = "Examples:"
	}
	fmt.Fprintln(ctx.Stdout, title)
	for _, e := range examples {
		fmt.Fprintf(ctx.Stdout, "  %s %s\n", ctx.Model.Name, e)
	}
	fmt.Fprintln(ctx.Stdout)
	if c := ctx.Selected(); c != nil { // kong prints flags of the application first
		c.Flags = append(c.Flags, ctx.Model.Flags...)
		ctx.Model.Flags = nil
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

func commaSeparated(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// commandsOf are the commands that are shown.
func commandsOf(a *kong.Application) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(a.Children), func(c *kong.Node) bool { return c.Hidden })
}
