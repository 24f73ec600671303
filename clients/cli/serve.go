//go:build !js

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/bounded"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/serve"
)

// mebibyte is the unit of the flags for bodies.
const mebibyte = 1 << 20

type serveCommand struct {
	Listen      string `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"The address to listen on, ${default} by default. One that other machines reach needs --token-file."`
	TokenFile   string `placeholder:"FILE" help:"File with the bearer token that requests must have."`
	MaxBody     int64  `default:"128" placeholder:"MEBIBYTES" help:"Maximum size of a request's body, and of what it unpacks to, ${default} by default."`
	MaxInFlight int64  `default:"256" placeholder:"MEBIBYTES" help:"Maximum size of the bodies and the answers of all requests at a time, and of the pods that workloads become, ${default} by default. Each counts as 32 at least. Objects take some eight times the memory of their text."`
	remote      `group:"server"`
}

// Run is called by kong.
func (c *serveCommand) Run(s *session, _ *answered) error {
	if c.MaxBody < 1 || c.MaxInFlight < c.MaxBody {
		return errors.New("--max-body must be at least 1, and --max-in-flight at least --max-body")
	}
	var token string
	if c.TokenFile != "" {
		text, err := bounded.ReadFile(c.TokenFile)
		if err != nil {
			return err
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return fmt.Errorf("%s: is empty", c.TokenFile)
		}
	}
	a, stop, err := c.answerer(s)
	if err != nil {
		return err
	}
	defer stop()
	o := serve.Defaults()
	o.Token, o.MaximumBody, o.MaximumBodies = token, c.MaxBody*mebibyte, c.MaxInFlight*mebibyte
	handler, err := serve.NewHandler(a, o)
	if err != nil {
		return err
	}
	l, err := serve.Listen(s.ctx, c.Listen, token)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	quote.Fprintf(s.stderr, "stowage: http://%s is a page; http://%s/openapi.json lists what is answered\n", l.Addr(), l.Addr())
	return serve.Run(s.ctx, l, handler)
}
