// Package config defines the server's configuration: one struct that yields flags, environment variables, the keys of the
// configuration file, and help.
//
// Precedence: flag, environment variable (STOWAGE_ and the flag's name in upper case with underscores), file (the flag's
// name as key), default. Sizes may have units, such as 128Mi. The standard OTEL_* variables configure telemetry exporters, see package telemetry.
package config

import (
	"time"
)

// Config is the server's configuration.
type Config struct {
	ListenAddress string `default:"127.0.0.1:7433" help:"Address of the gRPC service. Loopback unless set otherwise."`
	AdminAddress  string `default:"127.0.0.1:7434" help:"Address of the HTTP endpoints /metrics, /healthz and /readyz."`

	HTTPAddress string `name:"http-address" help:"Address of the same service as JSON over HTTP, such as 127.0.0.1:7435, with the same TLS, identity and limits; none without it."`

	TLSCertFile     string `help:"PEM certificate of the gRPC service; without it the service is plaintext. All files are reloaded when they change."`
	TLSKeyFile      string `help:"PEM key of tls-cert-file."`
	TLSClientCAFile string `help:"PEM certificates of the client CAs; with it the service requires client certificates, or with access-file those of callers without tokens."`
	AccessFile      string `help:"Who may call what, in YAML: callers by certificate or token, their tenants and methods, quotas. Without it everybody may call everything. Reloaded when it changes."`

	TokenReviewURL       string   `name:"token-review-url" help:"URL of a Kubernetes API server that reviews tokens which access-file does not list, such as https://kubernetes.default.svc."`
	TokenReviewCAFile    string   `name:"token-review-ca-file" default:"/var/run/secrets/kubernetes.io/serviceaccount/ca.crt" help:"PEM certificates of its authorities."`
	TokenReviewTokenFile string   `default:"/var/run/secrets/kubernetes.io/serviceaccount/token" help:"Token of a service account that may create tokenreviews."`
	TokenReviewAudiences []string `help:"Audiences of which tokens must have one; without any, those of the API server."`

	MaxReceiveMessageBytes int           `type:"bytes" default:"auto" help:"Maximum size of a request message; auto is 256Mi, or max-in-flight-bytes if that is less."`
	MaxInFlightBytes       int64         `type:"bytes" default:"auto" help:"Maximum total size of requests in flight; requests above it fail with RESOURCE_EXHAUSTED and RetryInfo. auto fits the process's memory limit, and is 1Gi without one."`
	MaxConcurrentStreams   uint32        `default:"1024" help:"Maximum concurrent requests per connection; more wait."`
	MaxConnections         int           `default:"0" help:"Maximum connections; more are closed at once. 0 means all descriptors of the process but 32."`
	MaxSnapshotBytes       int64         `type:"bytes" default:"auto" help:"Memory budget of the snapshot cache; the least recently used snapshots are evicted. auto fits the process's memory limit, and is 1Gi without one."`
	RateLimitPerSecond     float64       `default:"0" help:"Maximum requests per second; 0 means no limit."`
	RateLimitBurst         int           `default:"100" help:"Burst size of the rate limit, in requests."`
	Seats                  int           `default:"0" help:"Requests that compute at a time; 0 means one for each processor, -1 means no limit."`
	MaxQueueWait           time.Duration `default:"1s" help:"Requests that would wait longer for a seat fail with RESOURCE_EXHAUSTED and RetryInfo; 0 means that only their deadline counts."`
	MaxRequestDuration     time.Duration `default:"1m" help:"Maximum duration of a request, whatever its own deadline; 0 means no limit."`
	MaxConnectionAge       time.Duration `default:"30m" help:"Maximum age of a connection before a graceful close, so that clients reach new replicas; 0 means no limit."`

	DrainDelay          time.Duration `default:"5s" help:"How long a stopping server keeps serving while it reports not ready."`
	ShutdownGracePeriod time.Duration `default:"30s" help:"How long a stopping server waits for requests in progress after that."`

	LogLevel  string `default:"info" help:"Minimum log level: debug, info, warn or error."`
	LogFormat string `default:"json" help:"Log format: json or text."`
	Pprof     bool   `help:"Serve /debug/pprof on the admin address."`
}
