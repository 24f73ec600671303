#!/bin/bash
# Measures this tree and the tree of another commit in turn, on one machine, and fails if a row lost more than 5 %:
#
#	bench/against.sh REF [FLAG...]
#
# The flags are those of bench/parity/cmd/bench, such as -only queues. Both trees are measured by the rows of this tree; if these do
# not compile with the other tree, by the rows of each. Needs the modules of both trees in the module cache, or a module proxy.
set -euo pipefail
ref=${1:?usage: bench/against.sh REF [FLAG...]}
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
commit=$(git -C "$root" rev-parse --verify --quiet "$ref^{commit}") || {
	echo "against: no commit $ref here; a shallow clone has to fetch it first" >&2
	exit 2
}
work=$root/build/against
rm -rf "$work"
mkdir -p "$work/tree" "$work/before" "$work/after"
trap 'rm -rf "$work/tree"' EXIT

# build compiles the benchmark and the command of a tree.
build() {
	local tree=$1 out=$2
	CGO_ENABLED=0 GOWORK=off go -C "$tree/bench/parity" build -buildvcs=false -trimpath -o "$out/bench" ./cmd/bench &&
		CGO_ENABLED=0 go -C "$tree" build -buildvcs=false -trimpath -o "$out/stowage" ./clients/cmd/stowage
}

echo "against: building this tree" >&2
build "$root" "$work/after"
echo "against: building $commit" >&2
git -C "$root" archive "$commit" | tar -x -C "$work/tree"
mv "$work/tree/bench" "$work/bench"
git -C "$root" ls-files -z --cached --others --exclude-standard bench | tar -C "$root" --null -T - -c | tar -x -C "$work/tree"
if ! build "$work/tree" "$work/before"; then
	echo "against: the rows of this tree do not compile there; each tree has its own" >&2
	rm -rf "$work/tree/bench"
	mv "$work/bench" "$work/tree/bench"
	build "$work/tree" "$work/before"
fi
rm -rf "$work/bench"
"$work/after/bench" -against "$work/before/bench" "$@"
