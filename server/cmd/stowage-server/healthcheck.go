package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthcheck is the healthcheck command.
type healthcheck struct {
	AdminAddress string        `default:"127.0.0.1:7434" help:"The server's admin address."`
	Timeout      time.Duration `default:"2s" help:"Timeout of the request."`
}

// Run runs the command.
func (h *healthcheck) Run(ctx context.Context) error {
	host, port, err := net.SplitHostPort(h.AdminAddress)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // a listen address without a host
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
		return fmt.Errorf("the server responded %s", response.Status)
	}
	return nil
}
