package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Logger returns the configured logger. The configuration must be valid.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	level, _ := c.level()
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func (c *Config) level() (slog.Level, error) {
	switch c.LogLevel {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, fmt.Errorf("unknown level %q", c.LogLevel)
	}
}
