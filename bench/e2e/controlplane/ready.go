package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// probe does not verify certificates, as the processes have self-signed ones. It only requests readiness over loopback.
var probe = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

// HTTPReady is when a process answers 200 at an address.
func HTTPReady(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := probe.Do(request)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return nil
	}
}
