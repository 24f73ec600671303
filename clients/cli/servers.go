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

// answerer returns an Answerer that uses the given servers, or a server inside the process.
func (r *remote) answerer(s *session) (*Answerer, func(), error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	client, stop, err := r.dial(s)
	if err != nil {
		return nil, nil, err
	}
	a, err := NewAnswerer(client)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return a, stop, nil
}
