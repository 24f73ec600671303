#!/usr/bin/env bash
# Builds the control plane's commands that go.mod names, unless that has been done, and prints the directory that they are
# in: below E2E_CACHE, by default the user's cache. It is one build, with the flags that bench/parity is built with, so that
# Go's cache serves both. From an empty cache it takes some 9 CPU-minutes, 5 of them if bench/parity is built, and 2 GiB to link.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
key=$version-$(go env GOVERSION)-$(cat go.mod go.sum build.sh | sha256sum | head -c 12)
out=${E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stowage/e2e}/$key
every=15 # seconds between two lines that say where the build stands

# progress counts the packages that `go build -v` names, and prints everything else that it says.
progress() {
	local total=$1 compiled=0 told=$SECONDS status line
	while true; do
		status=0
		read -r -t "$every" line || status=$?
		if ((status == 0)) && [[ $line =~ ^[A-Za-z0-9._/-]+$ ]]; then
			((++compiled))
		elif ((status == 0)); then
			echo "$line"
		elif ((status <= 128)); then # the end, not the time
			return
		fi
		if ((SECONDS - told >= every)); then
			told=$SECONDS
			if ((compiled < total)); then
				echo "  $compiled of $total packages after $SECONDS s, some $((SECONDS * (total - compiled) / (compiled + 1))) s left"
			else
				echo "  all packages, linking, after $SECONDS s"
			fi
		fi
	done
}

if [ ! -e "$out" ]; then
	IFS=. read -r major minor _ <<<"${version#v}"
	# Without these the commands report a placeholder as their version. They change the linker's work only.
	v=k8s.io/component-base/version
	stamp="-X $v.gitVersion=$version -X $v.gitMajor=$major -X $v.gitMinor=$minor -X $v.gitCommit=module -X $v.gitTreeState=clean"
	mkdir -p "$(dirname "$out")"
	building=$(mktemp -d "$out.XXXXXX")
	trap 'rm -rf "$building"' EXIT
	total=$(go list -deps tool | wc -l)
	missing=$(go list -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' tool | wc -l)
	echo "building etcd and Kubernetes $version: $missing of $total packages, the others are in Go's cache" >&2
	nice go build -v -ldflags "-s -w $stamp" -o "$building/" tool 2>&1 | progress "$missing" >&2
	mv "$building/server" "$building/etcd" # go.etcd.io/etcd/server/v3
	echo "built after $SECONDS s" >&2
	mv -T "$building" "$out" 2>/dev/null || [ -x "$out/etcd" ] # somebody else may have been faster
fi
echo "$out"
