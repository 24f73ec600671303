// Package version knows which version runs.
package version

import "runtime/debug"

// Current is the main module's version, "unknown" if the binary has none.
func Current() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
