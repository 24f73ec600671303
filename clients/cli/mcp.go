//go:build !js

package cli

import (
	"errors"
	"io"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/mcp"
)

type mcpCommand struct {
	inputs `group:"input"`
	remote `group:"server"`
}

// Run is called by kong.
func (c *mcpCommand) Run(s *session, _ *answered) error {
	if slices.Contains(c.File, "-") {
		return errors.New("--file: standard input has the messages of the agent")
	}
	a, stop, err := c.answerer(s)
	if err != nil {
		return err
	}
	defer stop()
	sourced := c.Cluster || c.Kubeconfig != "" || c.Context != "" || len(c.File)+len(c.Kustomize) > 0
	if sourced {
		a.before = &c.inputs
	}
	return mcp.Run(s.ctx, mcp.New(a, sourced), io.NopCloser(s.stdin), unclosed{s.stdout})
}

// unclosed is an output that is not closed.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
