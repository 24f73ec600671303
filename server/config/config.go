// Package config is the server's configuration: one struct from which flags, environment variables, the keys of the
// configuration file and the help come.
//
// A setting is taken from its flag, else from its environment variable (STOWAGE_ and the flag's name in capitals with
// underscores), else from the file (the flag's name as key), else it has its default. What telemetry is sent where is
// not here: the standard OTEL_* variables say so.
package config

import (
	"time"
)

// Config is the server's configuration.
type Config struct {
	ListenAddress string `default:"127.0.0.1:7433" help:"Address of the gRPC service. Loopback unless set otherwise."`
	AdminAddress  string `default:"127.0.0.1:7434" help:"Address of the HTTP endpoints /metrics, /healthz and /readyz."`

	TLSCertFile     string `help:"PEM certificate of the gRPC service. Without it the service speaks plain text."`
	TLSKeyFile      string `help:"PEM key of tls-cert-file."`
	TLSClientCAFile string `help:"PEM certificates of the authorities whose clients are let in. Without it every client is."`

	MaxReceiveMessageBytes int           `default:"268435456" help:"Largest request, after decompression."`
	MaxInFlightBytes       int64         `default:"1073741824" help:"Bytes of all requests that may be worked on at a time; more are refused with a hint when to retry."`
	MaxConcurrentStreams   uint32        `default:"1024" help:"Requests at a time of one connection; more wait."`
	MaxSnapshotBytes       int64         `default:"1073741824" help:"Memory of all snapshots that are kept; what was not asked for longest makes room for what comes."`
	RateLimitPerSecond     float64       `default:"0" help:"Requests per second, 0 for no limit."`
	RateLimitBurst         int           `default:"100" help:"Requests that may come at once within the rate limit."`
	MaxRequestDuration     time.Duration `default:"1m" help:"Longest that a request is worked on, whatever its own deadline; 0 for no limit."`
	MaxConnectionAge       time.Duration `default:"30m" help:"Age at which a connection is closed gently, so that clients find new replicas; 0 for never."`

	DrainDelay          time.Duration `default:"5s" help:"How long a stopping server goes on serving while it says that it is not ready."`
	ShutdownGracePeriod time.Duration `default:"30s" help:"How long a stopping server lets requests finish after that."`

	LogLevel  string `default:"info" help:"Least severe level that is logged: debug, info, warn or error."`
	LogFormat string `default:"json" help:"How log lines are written: json or text."`
	Pprof     bool   `help:"Serve /debug/pprof on the admin address."`
}
