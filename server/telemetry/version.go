package telemetry

import "runtime/debug"

// Version is the main module's version, "unknown" if the binary has none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
