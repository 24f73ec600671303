#!/usr/bin/env bash
# Puts load on a server over loopback and prints one table, and what the server says of itself: run.sh [OUT_DIR]
#
# Filters of one pod, by address of a cluster that was put before, and with the cluster in each request; from ghz as fast
# as two callers can (closed), from ghz at a fixed rate (open), and from openloop at the same rate, whose latencies count
# from when a call was due.
#
# NODES sets the size of the cluster, 5000 by default; DURATION how long each load lasts, 15s; RATE_ADDRESS and RATE_INLINE
# the calls per second, 200 and 2. Needs `make proto-deps` and curl. Everything it writes is under OUT_DIR, build/load by
# default. Fails if any call does.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

out=${1:-build/load}
nodes=${NODES:-5000}
duration=${DURATION:-15s}
declare -A rate=([address]=${RATE_ADDRESS:-200} [inline]=${RATE_INLINE:-2})
mkdir -p "$out"
ghz() { go tool -modfile=go.tools.mod ghz "$@"; }

CGO_ENABLED=0 go build -o "$out/" ./server/cmd/stowage-server ./bench/load/request ./bench/load/openloop ./bench/load/table
go tool -modfile=go.tools.mod buf build -o "$out/stowage.binpb"

"$out/stowage-server" --listen-address=127.0.0.1:0 --admin-address=127.0.0.1:0 --drain-delay=0s 2>"$out/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" || true' EXIT

# The system chose the ports; the server's first line says which.
serving() { sed -n "s/.*\"msg\":\"serving\".*\"$1\":\"\([^\"]*\)\".*/\1/p" "$out/server.log"; }
ready=
for _ in {1..1200}; do
	address=$(serving address) admin=$(serving admin_address)
	[[ -n $admin ]] && "$out/stowage-server" healthcheck --timeout=1m --admin-address="$admin" && ready=yes && break
	sleep 0.1
done
if [[ -z $ready ]]; then
	cat "$out/server.log" >&2
	exit 1
fi

"$out/request" -nodes "$nodes" -put "$address" -out "$out/address.request"
"$out/request" -nodes "$nodes" -out "$out/inline.request"

reports=()
for form in address inline; do
	for loop in closed open; do
		echo "ghz, $loop loop, $form: $duration" >&2
		flags=()
		[[ $loop == open ]] && flags=(--rps="${rate[$form]}")
		ghz --config="bench/load/$loop.json" --protoset="$out/stowage.binpb" --binary-file="$out/$form.request" \
			--duration="$duration" "${flags[@]}" --format=json --output="$out/ghz-$loop-$form.json" "$address"
		reports+=("ghz, $loop loop, $form=$out/ghz-$loop-$form.json")
	done
	echo "openloop, $form: $duration" >&2
	"$out/openloop" -address "$address" -request "$out/$form.request" -rate "${rate[$form]}" -duration "$duration" -out "$out/openloop-$form.json"
	reports+=("openloop, $form=$out/openloop-$form.json")
done
"$out/table" "${reports[@]}"

echo "the server, per call of either form:"
curl -fsS "http://$admin/metrics" >"$out/metrics.txt"
awk '
	/^process_cpu_seconds_total/ { cpu = $2 }
	/^rpc_server_call_duration_seconds_count.*Filter/ { calls += $2 }
	/^stowage_decision_duration_seconds_count.*part="decode"/ { decided += $2 }
	/^stowage_decision_cache_hits_total/ { hits += $2 }
	/^stowage_decision_duration_seconds_sum/ && match($0, /part="[a-z]*"/) { part[substr($0, RSTART + 6, RLENGTH - 7)] += $2 }
	END {
		printf "  processor %.3f ms\n", 1000 * cpu / calls
		printf "  %d cache hits, %d decisions", hits, decided
		printf ": decode %.3f ms, engine %.3f ms, encode %.3f ms each\n", 1000 * part["decode"] / decided, 1000 * part["engine"] / decided, 1000 * part["encode"] / decided
	}' "$out/metrics.txt"
awk '/^VmHWM/ { printf "  largest resident size %.0f MiB\n", $2 / 1024 }' "/proc/$server/status"
