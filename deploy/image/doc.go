// Command image packs one of the commands into a container image: an OCI image layout and the same as one archive, with an
// image for each architecture, made without a container engine and without a registry.
//
// The image has no base. It holds the static binary and the Mozilla root certificates, which exporters of telemetry
// need for collectors behind public certificates; it has no shell, no user database and nothing to write to, and runs
// as user 65532. The same binaries, tag and time give the same bytes: nothing of the machine goes in.
//
// build.sh in this directory compiles the binaries and calls it.
package main
