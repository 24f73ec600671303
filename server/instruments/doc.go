// Package instruments has the metrics and spans of what the services do: of decisions, of requests that wait, of snapshots. Package telemetry
// exports them. Without it they cost nothing.
package instruments
