// Package chart tests the Helm chart with Helm's own code: it lints and renders it with several files of values, compares
// what comes out with the kustomizations, and reads it as strictly as the API server does.
package chart
