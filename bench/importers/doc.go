// Package importers has no code. Its test imports the modules of this repository into modules of others, which are on older versions of
// Kubernetes and gRPC, and expects that nothing there changes its version.
package importers
