// Package chart tests the Helm chart with Helm's own code: it lints and renders the chart with several files of values, compares the
// manifests with the kustomizations, and reads them as strictly as the API server does.
package chart
