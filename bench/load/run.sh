#!/usr/bin/env bash
# Puts load on a server over loopback for a minute and prints ghz's reports and what the server says of itself:
# run.sh [OUT_DIR]
#
# NODES sets the size of the cluster in each request, 5000 by default. Needs `make proto-deps` and curl. Everything it
# writes is under OUT_DIR, build/load by default. Fails if any call does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=${1:-build/load}
mkdir -p "$out"
tool() { go tool -modfile=go.tools.mod "$@"; }

go build -o "$out/stowage-server" ./server/cmd/stowage-server
go run ./bench/load/request -nodes "${NODES:-5000}" -out "$out/filter.binpb"
tool buf build -o "$out/stowage.binpb"

"$out/stowage-server" --listen-address=127.0.0.1:0 --admin-address=127.0.0.1:0 --drain-delay=0s 2>"$out/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" || true' EXIT

# The system chose the ports; the server's first line says which.
serving() { sed -n "s/.*\"msg\":\"serving\".*\"$1\":\"\([^\"]*\)\".*/\1/p" "$out/server.log"; }
ready=
for _ in {1..100}; do
	address=$(serving address) admin=$(serving admin_address)
	[[ -n $admin ]] && "$out/stowage-server" healthcheck --admin-address="$admin" && ready=yes && break
	sleep 0.1
done
if [[ -z $ready ]]; then
	cat "$out/server.log" >&2
	exit 1
fi

for config in closed open; do
	echo "== $config loop"
	tool ghz --config="bench/load/$config.json" --protoset="$out/stowage.binpb" \
		--binary-file="$out/filter.binpb" "$address" | tee "$out/$config.txt"
	if ! grep -q '\[OK\]' "$out/$config.txt" || grep -q 'Error distribution' "$out/$config.txt"; then
		echo "run.sh: calls failed" >&2
		exit 1
	fi
done

echo "== the server, per call"
curl -fsS "http://$admin/metrics" >"$out/metrics.txt"
awk '
	/^process_cpu_seconds_total/ { cpu = $2 }
	/^rpc_server_call_duration_seconds_count.*Filter/ { calls += $2 }
	/^stowage_decision_duration_seconds_sum/ && match($0, /part="[a-z]*"/) { part[substr($0, RSTART + 6, RLENGTH - 7)] += $2 }
	END {
		printf "  processor %.1f ms", 1000 * cpu / calls
		printf ", decode %.1f ms, engine %.1f ms, encode %.3f ms\n", 1000 * part["decode"] / calls, 1000 * part["engine"] / calls, 1000 * part["encode"] / calls
	}' "$out/metrics.txt"
awk '/^VmHWM/ { printf "  largest resident size %.0f MiB\n", $2 / 1024 }' "/proc/$server/status"
