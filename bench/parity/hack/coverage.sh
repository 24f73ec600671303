#!/usr/bin/env bash
# Prints how much of kube-scheduler's plugins a run of parity reaches, by package. Much of these packages is not about
# decisions (queueing hints, signatures, preemption, closed feature gates) and is never reached.
#   hack/coverage.sh [parity flags]
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plugins=k8s.io/kubernetes/pkg/scheduler/framework/plugins
packages=github.com/stowage-scheduler/stowage/bench/parity/cmd/parity # writes the counters when it ends
for p in schedulinggates nodename nodeunschedulable tainttoleration nodeaffinity nodeports noderesources \
	podtopologyspread interpodaffinity imagelocality helper; do
	packages+=,$plugins/$p
done
packages+=,k8s.io/component-helpers/scheduling/corev1/nodeaffinity,k8s.io/component-helpers/resource
go build -cover -coverpkg="$packages" -o "$work/parity" ./cmd/parity
mkdir "$work/counters"
# 1 says that cases differ, which is another matter.
GOCOVERDIR=$work/counters "$work/parity" -cases 1500 -keep 0 "$@" || (($? == 1))
go tool covdata percent -i "$work/counters"
go tool covdata textfmt -i "$work/counters" -o "$work/profile"
go tool cover -func="$work/profile" | awk '$3 != "0.0%"'
