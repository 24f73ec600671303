// Command image packs one of the commands into a container image for each architecture, as an OCI image layout and as an archive of
// the layout. It needs neither a container engine nor a registry.
//
// The image has no base. It contains the static binary and Mozilla's root certificates, which exporters of telemetry need for
// collectors with public certificates. It has no shell, no user database and no writable path, and runs as user 65532. The same
// binaries, tag and time give the same bytes on every machine.
//
// build.sh in this directory compiles the binaries and calls it.
package main
