package cli

import (
	"context"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/render/text"
)

// name is the name of the command.
const name = "stowage"

// session is the environment of a command.
type session struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	raw            io.Writer // stdout, for the sequences of a screen
	given          *given    // nil for a command that reaches the files, the clusters and the servers of this machine
	terminal       *os.File  // stdout, if it is one
	parser         *kong.Kong
	application    *kong.Application
	command        string // its name
	width          int    // of tables and lines
	ink            text.Ink
	progress       *progressLine // nil if stderr is no terminal
}

// openFile opens a file of this machine, or one that was handed over.
func (s *session) openFile(path string) (io.ReadCloser, error) {
	if s.given != nil {
		return s.given.open(path)
	}
	return os.Open(path)
}
