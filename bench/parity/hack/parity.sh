#!/usr/bin/env bash
# Runs parity with the given flags, then prints how much of kube-scheduler's plugins the cases reached, by package, or
# with FUNCS=1 by function. Much of these packages is not about decisions (queueing hints, signatures, eviction, composite pod groups,
# closed feature gates) and is never reached.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plugins=k8s.io/kubernetes/pkg/scheduler/framework/plugins
packages=github.com/stowage-scheduler/stowage/bench/parity/cmd/parity # writes the counters when it ends
for p in volumerestrictions nodevolumelimits volumebinding volumezone schedulinggates nodename nodeunschedulable tainttoleration nodeaffinity nodeports noderesources \
	podtopologyspread interpodaffinity imagelocality nodedeclaredfeatures defaultpreemption helper gangscheduling topologyaware podgrouppodscount; do
	packages+=,$plugins/$p
done
packages+=,k8s.io/kubernetes/pkg/scheduler/backend/queue,k8s.io/kubernetes/pkg/scheduler/framework/preemption,k8s.io/component-helpers/scheduling/corev1/nodeaffinity,k8s.io/component-helpers/resource,k8s.io/component-helpers/storage/volume
go build -cover -coverpkg="$packages" -o "$work/parity" ./cmd/parity
mkdir "$work/counters"
status=0
# Of small cases the garbage collector takes a third of the time.
export GOGC=${GOGC:-400}
GOCOVERDIR=$work/counters "$work/parity" "$@" || status=$?
echo "kube-scheduler's statements that the cases reached:"
go tool covdata percent -i "$work/counters" | grep k8s.io
if [ -n "${FUNCS:-}" ]; then
	go tool covdata textfmt -i "$work/counters" -o "$work/profile"
	go tool cover -func="$work/profile" | awk '$3 != "0.0%"'
fi
exit "$status"
