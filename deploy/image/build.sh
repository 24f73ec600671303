#!/usr/bin/env bash
# Builds the container image of stowage-server: build.sh OUT_DIR
#
# Writes OUT_DIR/layout, an OCI image layout for amd64 and arm64, and OUT_DIR/stowage-server.tar, the same as an archive.
# Needs Go and its module proxy, no container engine and no registry. The same commit gives the same bytes;
# SOURCE_DATE_EPOCH replaces the commit's time.
set -euo pipefail

out=$(mkdir -p "${1:?usage: build.sh OUT_DIR}" && cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
revision=$(git -C "$repository" describe --match= --always --abbrev=40 --dirty 2>/dev/null || true)
created=${SOURCE_DATE_EPOCH:-$(git -C "$repository" log -1 --format=%ct 2>/dev/null || echo 0)}

for arch in amd64 arm64; do
	CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -C "$repository" -trimpath -ldflags='-s -w' \
		-o "$out/linux-$arch/stowage-server" ./server/cmd/stowage-server
done
go run -C "$here" . -binaries "$out" -out "$out" -tag "$(<"$here/tag")" -revision "$revision" -created "$created"
