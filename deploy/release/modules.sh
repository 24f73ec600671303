#!/usr/bin/env bash
# Makes the modules of this repository require each other in the version of a release: modules.sh v1.2.3. Commit the result and give it the tags
# that this prints. Importers find a library by the tag with its folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=${1:?usage: modules.sh VERSION}
module=$(awk '/^module/ {print $2}' go.mod)
mapfile -t libraries < <(sed -n 's#^\t\./##p' go.work)
for dir in . "${libraries[@]}" bench/parity bench/karpenter bench/schedulerlibrary deploy/check; do
	for library in "${libraries[@]}"; do
		if grep -q "$module/$library v" "$dir/go.mod"; then
			go mod edit -require="$module/$library@$version" "$dir/go.mod"
		fi
	done
done
echo "$version"
printf "%s/$version\n" "${libraries[@]}"
