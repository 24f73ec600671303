//go:build !js

package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/bounded"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/serve"
)

// mebibyte is the unit of the flags for bodies.
const mebibyte = 1 << 20

type serveCommand struct {
	Listen      string `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"The address to listen on, ${default} by default, with port 8080 unless it has another. One that other machines reach needs --token-file."`
	TokenFile   string `placeholder:"FILE" help:"File with the bearer token that requests must have."`
	MaxBody     int64  `default:"128" placeholder:"MEBIBYTES" help:"Maximum size of a request's body, and of what it unpacks to, ${default} by default."`
	MaxInFlight int64  `default:"256" placeholder:"MEBIBYTES" help:"Maximum size of the bodies and the answers of all requests at a time, and of the pods that workloads become, ${default} by default. Each counts as 32 at least. Objects take some eight times the memory of their text."`
	Cluster     bool   `help:"Let the page read the live cluster. Implied by --kubeconfig and --context. Everyone who may call gets what the kubeconfig may list: without --token-file all users of this machine."`
	Kubeconfig  string `placeholder:"FILE" help:"The kubeconfig of --cluster. Default: $$KUBECONFIG, then ~/.kube/config, then the service account of the pod."`
	Context     string `placeholder:"NAME" values:"context" help:"The context of the kubeconfig. Default: its current context."`
	remote      `group:"server"`
}

// port is the port of an address that names none.
const port = "8080"

// address is the address to listen on.
func (c *serveCommand) address() string {
	if host := strings.Trim(c.Listen, "[]"); net.ParseIP(host) != nil || !strings.Contains(host, ":") {
		return net.JoinHostPort(host, port)
	}
	return c.Listen
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
	if c.Cluster || c.Kubeconfig != "" || c.Context != "" {
		source := &cluster{Kubeconfig: c.Kubeconfig, Context: c.Context}
		if _, _, err := source.config(); err != nil {
			return fmt.Errorf("--cluster: %w", err)
		}
		o.Cluster = source.write
	}
	handler, err := serve.NewHandler(a, o)
	if err != nil {
		return err
	}
	l, err := serve.Listen(s.ctx, c.address(), &o)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	quote.Fprintf(s.stderr, "stowage: http://%s is a page; http://%s/openapi.json lists what is answered\n", l.Addr(), l.Addr())
	return serve.Run(s.ctx, l, handler)
}
