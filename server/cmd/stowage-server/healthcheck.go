package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthcheck is the command that asks a server whether it is ready.
type healthcheck struct {
	AdminAddress string        `default:"127.0.0.1:7434" help:"The server's admin address."`
	Timeout      time.Duration `default:"2s" help:"How long to wait for the answer."`
}

// Run runs the command.
func (h *healthcheck) Run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(h.AdminAddress)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // the address may be the one that the server listens on
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	return nil
}
