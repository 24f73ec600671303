#!/usr/bin/env bash
# Builds what a release consists of into build/release: archives of the commands, their SBOMs, the manifests for krew and Homebrew, the
# chart, the candidate of the contract, and SHA256SUMS; and the images into build/images, whose digests are in images.txt. Nothing is published (publish.sh).
#
# Needs Go and its module proxy. At a tag v* it is the release of that tag, elsewhere a snapshot. The same commit and Go release give
# the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export GOWORK=off # versions are what each go.mod says

tools=$PWD/build/release-tools parts=$PWD/build/release-parts
flags=(--clean --skip=publish -f deploy/release/goreleaser.yaml)
if tag=$(git describe --exact-match --match 'v*' 2>/dev/null); then
	[ "$tag" = "$(<deploy/image/tag)" ] || { echo "the tag is $tag, deploy/image/tag has $(<deploy/image/tag)"; exit 1; }
else
	flags+=(--snapshot)
fi
rm -rf "$parts" && mkdir -p "$tools" "$parts"
go -C deploy/release build -o "$tools/" github.com/goreleaser/goreleaser/v2 github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

GOTOOLCHAIN=auto go -C deploy/check run ./chart/pack -out "$parts" -created "$(git log -1 --format=%ct)"
cp proto/candidate.binpb.gz "$parts/stowage.v1.binpb.gz"
deploy/image/build.sh build/images | tee "$parts/images.txt"
PATH=$tools:$PATH "$tools/goreleaser" release "${flags[@]}"
cp "$parts"/* build/release/
mv build/release/krew/*.yaml build/release/kubectl-stowage.yaml
mv build/release/homebrew/Casks/stowage.rb build/release/stowage.rb

# The services beside the server link Kubernetes' clients, CEL and OpenTelemetry's exporters together.
large=$(find build/release -mindepth 2 -type f \( -name 'stowage-[be]*' -size +70000000c -o ! -name 'stowage-[be]*' -size +60000000c \))
[ -z "$large" ] || { printf 'larger than 60 MB, or 70 MB for a service beside the server: %s\n' $large; exit 1; }

while read -r image _; do # the images hold the commands of the archives
	command=${image%%:*}
	for arch in amd64 arm64; do
		cmp "build/images/linux-$arch/$command" "$(echo build/release/"$command"_linux_"$arch"*/"$command")"
	done
done <"$parts/images.txt"
