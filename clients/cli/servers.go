//go:build !js

package cli

import (
	"log/slog"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func (r *remote) settings() *connect.Stowage {
	return &connect.Stowage{
		StowageAddress: r.Server, StowageCAFile: r.StowageCAFile, StowageCertFile: r.StowageCertFile, StowageKeyFile: r.StowageKeyFile,
		StowageServerName: r.StowageServerName, StowageTokenFile: r.StowageTokenFile,
	}
}

func (r *remote) validate() error { return r.settings().Validate() }

// open returns a client of the given servers, or of a server inside the process.
func (r *remote) open(s *session) (*stowage.Client, func(), error) {
	if len(r.Server) > 0 {
		c, err := r.settings().Dial(slog.New(slog.DiscardHandler))
		return c, func() { _ = c.Close() }, err
	}
	c, stop, err := embedded.Dial(s.ctx)
	return c, func() { _ = stop() }, err
}
