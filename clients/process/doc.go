// Package process runs the long-running commands: command line, signals, log, telemetry, admin endpoints.
//
// Main parses a command's Settings and flags and runs the command until SIGTERM or SIGINT. Start opens OpenTelemetry and a Stowage
// client, which every such command uses. Admin serves /metrics, /healthz and /readyz.
package process
