package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// Settings are the flags of every long-running command. The struct tag `set:"admin_address=HOST:PORT"` of the field that embeds
// them gives the default of AdminAddress.
type Settings struct {
	Version kong.VersionFlag `env:"-" help:"Print the version."`

	AdminAddress string `default:"${admin_address}" help:"Address of the HTTP endpoints /metrics, /healthz and /readyz."`
	Pprof        bool   `help:"Serve /debug/pprof on the admin address."`
	LogLevel     string `enum:"debug,info,warn,error" default:"info" help:"Minimum level of log lines: debug, info, warn or error."`
	LogFormat    string `enum:"json,text" default:"json" help:"Format of log lines: json or text."`

	connect.Stowage
	Kubernetes
}

// Validate reports every invalid setting.
func (s *Settings) Validate() error {
	return errors.Join(s.Stowage.Validate(), ValidateAddress("admin-address", s.AdminAddress))
}

// ValidateAddress reports a listen address that is not host:port.
func ValidateAddress(flag, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%s: must be host:port, is %q", flag, address)
	}
	return nil
}

// Logger returns a logger with the level and format of valid settings.
func (s *Settings) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(quote.Log(w), options))
}
