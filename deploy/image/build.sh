#!/usr/bin/env bash
# Builds the container images of stowage-server, stowage-extender, stowage-batch, stowage-expander and of the command, stowage:
# build.sh OUT_DIR
#
# Writes OUT_DIR/layout, an OCI image layout for amd64 and arm64, and OUT_DIR/stowage-server.tar, the same as an archive;
# for the other commands the same in OUT_DIR/COMMAND. Needs Go and its module proxy, no container engine and no registry. The
# same commit gives the same bytes; SOURCE_DATE_EPOCH replaces the commit's time, and ARCHES=amd64 leaves the other one out.
set -euo pipefail
export GOWORK=off # versions are what each go.mod says

arches=${ARCHES:-amd64 arm64}
out=$(mkdir -p "${1:?usage: build.sh OUT_DIR}" && cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
revision=$(git -C "$repository" describe --match= --always --abbrev=40 --dirty 2>/dev/null || true)
created=${SOURCE_DATE_EPOCH:-$(git -C "$repository" log -1 --format=%ct 2>/dev/null || echo 0)}

# image PACKAGE OUT
image() {
	local command
	command=$(basename "$1")
	for arch in $arches; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -C "$repository" -trimpath -ldflags='-s -w' -o "$out/linux-$arch/$command" "$1"
	done
	mkdir -p "$2"
	go run -C "$here" . -command "$command" -binaries "$out" -arch "${arches// /,}" -out "$2" -tag "$(<"$here/tag")" -revision "$revision" -created "$created"
}

image ./server/cmd/stowage-server "$out"
image ./clients/cmd/stowage-extender "$out/stowage-extender"
image ./clients/cmd/stowage-batch "$out/stowage-batch"
image ./clients/cmd/stowage-expander "$out/stowage-expander"
image ./clients/cmd/stowage "$out/stowage"
