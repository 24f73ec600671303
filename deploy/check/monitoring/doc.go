// Package monitoring tests the dashboards and the rules with Prometheus' own code: the metrics and labels in their queries
// exist, and alerts fire when they should.
package monitoring
