#!/usr/bin/env bash
# Publishes the images and signatures of what release.sh built: publish.sh REGISTRY, such as registry.example/stowage.
#
# Pushes the images, signs them by digest, attests the SBOM of each platform's command, and signs SHA256SUMS. Writes the images'
# digests to build/release-parts/subjects.txt, as the subjects of provenance. SIGN are cosign's flags: by default it signs with the
# identity that the workflow has, and logs that in public.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export GOWORK=off

registry=${1:?usage: publish.sh REGISTRY}
read -ra sign <<<"${SIGN:---yes}"
tools=$PWD/build/release-tools parts=$PWD/build/release-parts
go -C deploy/image build -o "$tools/" github.com/google/go-containerregistry/cmd/crane
GOBIN=$tools go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3

: >"$parts/subjects.txt"
while read -r image digest; do
	command=${image%%:*}
	layout=build/images/$command/layout
	[ "$command" != stowage-server ] || layout=build/images/layout
	"$tools/crane" push "$layout" "$registry/$image"
	[ "$("$tools/crane" digest "$registry/$image")" = "$digest" ]
	"$tools/cosign" sign "${sign[@]}" "$registry/$command@$digest"
	for arch in amd64 arm64; do
		platform=$("$tools/crane" digest --platform "linux/$arch" "$registry/$image")
		"$tools/cosign" attest "${sign[@]}" --type cyclonedx --predicate "$(echo build/release/"$command"_v*_linux_"$arch".cdx.json)" \
			"$registry/$command@$platform"
	done
	echo "${digest#sha256:}  $registry/$command" >>"$parts/subjects.txt"
done <"$parts/images.txt"
"$tools/cosign" sign-blob "${sign[@]}" --bundle build/release/SHA256SUMS.sigstore.json build/release/SHA256SUMS
