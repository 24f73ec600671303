package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"
)

// Validate returns every problem of the configuration, joined.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, key, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
		}
	}
	for _, a := range [...]struct{ key, address string }{
		{"listen-address", c.ListenAddress}, {"admin-address", c.AdminAddress},
	} {
		_, _, err := net.SplitHostPort(a.address)
		check(err == nil, a.key, "must be host:port, is %q", a.address)
	}
	if c.HTTPAddress != "" {
		_, _, err := net.SplitHostPort(c.HTTPAddress)
		check(err == nil, "http-address", "must be host:port, is %q", c.HTTPAddress)
	}
	check((c.TLSCertFile == "") == (c.TLSKeyFile == ""), "tls-cert-file", "must be set together with tls-key-file")
	check(c.TLSClientCAFile == "" || c.TLSCertFile != "", "tls-client-ca-file", "needs tls-cert-file")
	check(c.AccessFile == "" || c.TLSCertFile != "", "access-file", "needs tls-cert-file: tokens must not be sent in plain text")
	check(c.TokenReviewURL == "" || c.AccessFile != "", "token-review-url", "needs access-file")
	check(c.TokenReviewURL == "" || strings.HasPrefix(c.TokenReviewURL, "https://"), "token-review-url", "must begin with https://, is %q",
		c.TokenReviewURL)

	check(c.MaxReceiveMessageBytes == Auto || c.MaxReceiveMessageBytes >= 1 && c.MaxReceiveMessageBytes <= math.MaxInt32, "max-receive-message-bytes",
		"must be 1 to %d, is %d", math.MaxInt32, c.MaxReceiveMessageBytes)
	check(c.MaxInFlightBytes == Auto || c.MaxInFlightBytes >= int64(max(c.MaxReceiveMessageBytes, 1)), "max-in-flight-bytes",
		"must be at least max-receive-message-bytes, is %d", c.MaxInFlightBytes)
	check(c.MaxSnapshotBytes >= Auto, "max-snapshot-bytes", "must not be negative, is %d", c.MaxSnapshotBytes)
	check(c.MaxConnections >= 0 && c.MaxConnections <= 1e6, "max-connections", "must be 0 to 1000000, is %d", c.MaxConnections)
	check(c.Seats >= -1 && c.Seats <= 1e6, "seats", "must be -1 to 1000000, is %d", c.Seats)
	check(c.MaxConcurrentStreams >= 1, "max-concurrent-streams", "must be at least 1")
	check(c.RateLimitPerSecond == 0 || c.RateLimitPerSecond >= 0.001 && c.RateLimitPerSecond <= 1e9,
		"rate-limit-per-second", "must be 0, or 0.001 to 1e9, is %v", c.RateLimitPerSecond)
	check(c.RateLimitBurst >= 1 && c.RateLimitBurst <= 1e6, "rate-limit-burst", "must be 1 to 1000000, is %d", c.RateLimitBurst)
	for _, d := range [...]struct {
		key string
		d   time.Duration
	}{
		{"max-queue-wait", c.MaxQueueWait}, {"max-request-duration", c.MaxRequestDuration}, {"max-connection-age", c.MaxConnectionAge},
		{"drain-delay", c.DrainDelay}, {"shutdown-grace-period", c.ShutdownGracePeriod},
	} {
		check(d.d >= 0, d.key, "must not be negative, is %v", d.d)
	}
	_, err := c.level()
	check(err == nil, "log-level", "must be debug, info, warn or error, is %q", c.LogLevel)
	check(c.LogFormat == "json" || c.LogFormat == "text", "log-format", "must be json or text, is %q", c.LogFormat)
	return errors.Join(errs...)
}
