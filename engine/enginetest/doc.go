// Package enginetest helps to test the engine and its users: builders of clusters and pods, random ones, and results as
// text.
package enginetest
