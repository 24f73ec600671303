// Package enginetest helps to test the engine and what stands on it: builders of clusters and pods that read like a
// manifest, and texts of results that read like prose.
package enginetest
