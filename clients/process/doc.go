// Package process runs the long-running commands: command line, signals, log, telemetry, admin endpoints.
//
// Main parses a command's Settings and flags and runs the command until SIGTERM or SIGINT. Start opens what every such command
// uses while it runs: OpenTelemetry and a Stowage client. Admin serves /metrics, /healthz and /readyz.
package process
