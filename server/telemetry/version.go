package telemetry

import "runtime/debug"

// Version is the version that the binary was built as.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
