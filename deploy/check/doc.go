// Package check tests the Helm chart with Helm's own code, and the dashboards and rules with Prometheus' own. It is a module of its own,
// as both are large.
package check
