#!/usr/bin/env bash
# Runs the library's own tests on the packages here: the go command compiles the test files of the module cache as if they were in these
# folders. Prints the outcome of each test, and fails unless each passes.
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off
library=$(go list -m -f '{{.Dir}}' sigs.k8s.io/scheduler-library)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A tests=([snapshot]=upstreamsync/snapshot/snapshot_test.go [state]=state/state_test.go [simulator]=simulator/simulator_test.go)
separator='{"Replace": {'
for folder in "${!tests[@]}"; do
  printf '%s\n"%s": "%s"' "$separator" "$PWD/$folder/library_test.go" "$library/pkg/${tests[$folder]}"
  separator=,
done >"$work/overlay.json"
echo '}}' >>"$work/overlay.json"
status=0
go test -count=1 -vet=off -overlay "$work/overlay.json" -v ./... >"$work/out" 2>&1 || status=$?
if [ "$status" != 0 ]; then cat "$work/out"; else grep -E '^ *--- |^ok' "$work/out"; fi
for folder in "${!tests[@]}"; do
  for test in $(grep -oP '^func \KTest\w+' "$library/pkg/${tests[$folder]}"); do
    grep -q -- "--- PASS: $test " "$work/out" || { echo "$test of $folder did not pass"; status=1; }
  done
done
echo "$(grep -c -- '--- PASS' "$work/out") tests passed"
exit "$status"
