# Stowage: scheduling decisions as a service. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Tests, commands and images share what is compiled, because all are built alike: only the race detector and vale need C.
export CGO_ENABLED := 0
RACED = CGO_ENABLED=1 $(GOTEST) -race

# The modules of go.work, whose packages the go command's pattern "work" means. Each has to be in order without the others' versions, too.
LIBRARIES := clients/cel clients/kube clients/simulate clients/stowage engine proto
MODULES := . $(LIBRARIES)
# Modules of their own are left out of go.work: they would raise the versions of the others.
APART := GOWORK=off go -C

# The go command takes no other go.mod in a workspace.
TOOL := GOWORK=off go tool -modfile=go.tools.mod
BUF := $(TOOL) buf
PROTOVALIDATE := build/protovalidate/buf/validate/validate.proto
# How long `make fuzz` spends on each fuzz target. `make check` gives a number of runs: at the end of a time, Go 1.26 may report
# the end itself as a failure (golang/go#75804).
FUZZTIME ?= 30s

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Only what the demo runs is built.
DEMO := ./server/cmd/stowage-server ./clients/demo
.PHONY: demo
demo: ## Start a server and show decisions about ordinary manifests, over gRPC.
	@echo "demo: building the server and the demo; with empty caches this takes two to three minutes on two cores"
	@packages=$$(go list -deps $(DEMO) | wc -l) && \
	go build -v -o build/demo/ $(DEMO) 2>&1 | awk -v all="$$packages" \
	  '/ / {print; next} ++n % 50 == 0 {printf "demo: %d packages compiled, at most %d\n", n, all; fflush()}'
	@echo "demo: starting the server on loopback"
	@build/demo/demo -server build/demo/stowage-server -examples clients/examples

.PHONY: build
build: ## Build the commands into bin/.
	@go build -o bin/ ./server/cmd/... ./clients/cmd/...

# Some tests wait for deadlines of seconds: more of them run at a time than there are processors.
GOTEST := go test -parallel 8

# The engine and the server come first, so that there are results while the clients' dependencies are compiled. The race detector
# would have everything compiled once more: make check runs the same tests with it.
SHORT ?= -short
.PHONY: test
test: ## Test every package, random cases cut short: some minutes, the first time more. SHORT= for all cases.
	@echo "Each package is a line, printed when its tests have run. The first time, dependencies are compiled before."
	@$(GOTEST) -vet=off $(SHORT) -timeout 1h ./engine/... ./proto/... ./server/... work
	@echo "All passed. make check runs all random cases, the race detector everywhere, the linters and short fuzzing as well."

.PHONY: check
check: lint generated tidy unit importers ## Run everything that must hold: lint, generated code, all tests, short fuzzing. FEW=-short for few cases.
	@$(MAKE) --no-print-directory fuzz FUZZTIME=$(if $(FEW),100x,1000x)
	@$(MAKE) --no-print-directory breaking

# Packages with goroutines of their own run all their cases with the race detector, others few of them. With FEW=-short all run few, with the
# race detector only the former and the engine, and fuzzing is shorter.
FEW ?=
CONCURRENT := ./server/... ./clients/batch ./clients/extender ./clients/live ./clients/stowage
SEQUENTIAL = $(if $(FEW),./engine/...,$$(comm -23 <(go list work | sort) <(go list $(CONCURRENT) | sort)))
.PHONY: unit
unit: ## Run all tests with all their cases, and with the race detector.
	$(RACED) $(FEW) -timeout 1h $(CONCURRENT)
	$(RACED) -short -timeout 1h $(SEQUENTIAL)
	@$(MAKE) --no-print-directory test SHORT=$(FEW)
	$(APART) deploy/image test -timeout 5m ./...
	@$(MAKE) --no-print-directory chart

# Helm's and Prometheus' own code, as Go modules. Their module needs a newer Go than the others, which the go command fetches.
CHECK := GOTOOLCHAIN=auto $(APART) deploy/check
.PHONY: chart
chart: ## Test the Helm chart as helm lint and helm template do, the dashboards and the alert rules.
	$(CHECK) test -timeout 10m ./...

# The releases of Kubernetes that importers may be on, beside the oldest one. Each takes minutes to compile; all of them are compared with
# what an import changes in any case.
KUBERNETES ?= v0.35.0 v0.36.0 v0.37.0
.PHONY: importers
importers: ## Test each library with the oldest versions that it supports, and imported into modules on Kubernetes 0.34 to 0.37.
	@for dir in $(filter-out engine,$(LIBRARIES)); do $(APART) $$dir test -short -timeout 20m ./... || exit 1; done
	@mkdir -p build && for release in $(KUBERNETES); do \
	  cp clients/kube/go.mod build/kube.mod && cp clients/kube/go.sum build/kube.sum && \
	  $(APART) clients/kube get -modfile=../../build/kube.mod \
	    $$(printf "k8s.io/%s@$$release " api apimachinery component-helpers csi-translation-lib) && \
	  $(APART) clients/kube test -modfile=../../build/kube.mod -mod=mod -short -timeout 20m ./... || exit 1; \
	done
	IMPORTERS='v0.34.0 $(KUBERNETES)' $(GOTEST) -count=1 -timeout 60m ./bench/importers

.PHONY: prose
prose: ## Check the English of Markdown files and of comments in Go code and protos.
	@git ls-files '*.md' '*.go' '*.proto' | grep -v '\.pb\.\(gw\.\)\?go$$' | xargs $$(CGO_ENABLED=1 GOWORK=off go tool -modfile=go.prose.mod -n vale) --output=line

.PHONY: lint
lint: prose $(PROTOVALIDATE) ## Check format and style of protos and Go code, and the English of both.
	$(BUF) lint
	$(BUF) format --diff --exit-code proto
	@unformatted=$$(git ls-files '*.go' | grep -v '\.pb\.\(gw\.\)\?go$$' | xargs gofmt -l); \
	  if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi
	$$($(TOOL) -n golangci-lint) run $(MODULES:%=./%/...)
	$(APART) deploy/image tool -modfile=../../go.tools.mod golangci-lint run
	$(CHECK) tool -modfile=../../go.tools.mod golangci-lint run

.PHONY: generate
generate: $(PROTOVALIDATE) ## Regenerate the Go code of the protos, and the JSON Schemas of the command's documents.
	$(BUF) format -w proto
	$(BUF) generate
	go run ./clients/answer/schema/generate

.PHONY: generated
generated: $(PROTOVALIDATE) ## Check that generated code is current.
	@rm -rf build/_generated && mkdir -p build/_generated/schema
	$(BUF) generate --output build/_generated
	@generated() { find proto server \( -name '*.pb.go' -o -name '*.pb.gw.go' -o -name openapi.json \) -exec sha256sum {} + | sort -k2; }; \
	  diff <(cd build/_generated && generated) <(generated) \
	  || { echo "generated code is not current: run make generate"; exit 1; }
	@go run ./clients/answer/schema/generate -out build/_generated/schema
	@diff -r -x '*.go' -x generate build/_generated/schema clients/answer/schema \
	  || { echo "schemas are not current: run make generate"; exit 1; }

.PHONY: tidy
tidy: ## Check that go.mod and go.sum are tidy.
	@for dir in $(MODULES); do $(APART) $$dir mod tidy -diff || exit 1; done

# The candidate of the contract, as buf's image of it. What it has stays: `make breaking` fails on any other contract.
CANDIDATE := proto/candidate.binpb.gz
RULES := {"version":"v2","breaking":{"use":["PACKAGE","WIRE_JSON"],"ignore":["buf/validate","grpcplugin"]}}

.PHONY: breaking
breaking: $(PROTOVALIDATE) ## Check that the contract does not break callers of its candidate.
	@mkdir -p build && $(BUF) build --exclude-source-info -o build/contract.binpb.gz
	@$(BUF) breaking build/contract.binpb.gz --against $(CANDIDATE) --config '$(RULES)' \
	  || { echo "the contract breaks callers of its candidate, $(CANDIDATE)"; exit 1; }

.PHONY: candidate
candidate: $(PROTOVALIDATE) ## Make the contract as it is the candidate that make breaking compares with.
	$(BUF) build --exclude-source-info -o $(CANDIDATE)

# Of the recorded cases and the examples every client gets each CLIENT_CASES-th.
CLIENT_CASES ?= 1
TYPESCRIPT := clients/typescript
# The packages are Debian's, so the interpreter is, too.
PYTHON := clients/python
.PHONY: clients
clients: $(PROTOVALIDATE) ## Generate, build and test the clients in TypeScript and Python; needs their tools. CLIENT_CASES=10 for a tenth of the cases.
	go build -o bin/ ./server/cmd/stowage-server ./clients/cmd/stowage
	npm --prefix $(TYPESCRIPT) ci --no-fund --no-audit
	$(TYPESCRIPT)/scripts/audit.sh
	$(BUF) generate --template $(TYPESCRIPT)/buf.gen.yaml --path proto/stowage/v1
	cd $(TYPESCRIPT) && npm run generate && npm run build && npm test
	$(PYTHON)/generate.sh
	cd $(PYTHON) && /usr/bin/python3 -m mypy && /usr/bin/python3 -m unittest tests.test_client
	go run ./.ci/readme $(TYPESCRIPT)/README.md $(PYTHON)/README.md
	PYTHONPATH=$(CURDIR)/$(PYTHON) $(GOTEST) -count=1 -timeout 30m -v ./bench/clients -step $(CLIENT_CASES) \
	  -python "/usr/bin/python3 $(CURDIR)/$(PYTHON)/tests/driver.py GRPC" \
	  -typescript "node $(CURDIR)/$(TYPESCRIPT)/dist/test/driver.js HTTP"

.PHONY: fuzz
fuzz: ## Fuzz every fuzz target for FUZZTIME (default 30s).
	@grep -rlE '^func Fuzz' --include='*_test.go' engine proto server clients | sort | while read -r file; do \
	  for target in $$(grep -oE '^func Fuzz[A-Za-z0-9_]*' "$$file" | cut -c6-); do \
	    echo "go test -fuzz $$target ./$$(dirname "$$file")"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzzminimizetime 1s -fuzztime $(FUZZTIME) "./$$(dirname "$$file")"; \
	  done; done

# How many requests `make fuzz-long` compares; each input is some nine of them.
N ?= 1000000
.PHONY: fuzz-long
fuzz-long: ## Ask a server N random requests, each in many ways, and compare the answers. Ten million take an hour.
	go run ./bench/fuzz -n $(N) -workers $$(nproc)

# How many seeds `make simulate` simulates, and from which on.
SEEDS ?= 1000
.PHONY: simulate
simulate: ## Simulate servers, clients and schedulers of SEEDS seeds from SEED on, while what they talk to fails.
	go test -count=1 -timeout 10h -v ./bench/simulate -seed $(SEED) -seeds $(SEEDS)

# Where `make bench` writes its table and picture, and the command that it measures.
BENCH_OUT ?= build
BENCH_COMMAND := build/bench/stowage
.PHONY: bench-command
bench-command:
	@go build -o $(BENCH_COMMAND) ./clients/cmd/stowage

.PHONY: bench
bench: bench-command ## Measure Stowage against floors and kube-scheduler's own plugins, in one table of ratios.
	@mkdir -p $(BENCH_OUT)
	$(APART) bench/parity run ./cmd/bench -stowage $(abspath $(BENCH_COMMAND)) \
	  -markdown $(abspath $(BENCH_OUT))/figures.md -chart $(abspath $(BENCH_OUT))/figures.svg

.PHONY: bench-small
bench-small: bench-command ## The same on 1,000 nodes, in two minutes and a half; fails where an order of magnitude is lost.
	$(APART) bench/parity run ./cmd/bench -small -stowage $(abspath $(BENCH_COMMAND))

# The commit that `make bench-against` compares with, and its flags: those of bench/parity/cmd/bench.
REF ?=
AGAINST_FLAGS ?= -kube-nodes= -huge=false
.PHONY: bench-against
bench-against: ## Measure this tree and REF=commit in turn; fails if a row lost more than 5 %. AGAINST_FLAGS='-only queues' for a section.
	bench/against.sh $(REF) $(AGAINST_FLAGS)

# The time that each answer has in `make bench-solver`, and the instances of each kind.
SOLVER_BUDGET ?= 1s
SOLVER_INSTANCES ?= 3
.PHONY: bench-solver
bench-solver: ## Compare joint placement with OR-Tools CP-SAT in equal time. Needs Node.js and npm.
	@mkdir -p build/solver && cp bench/solver/cpsat.mjs bench/solver/package.json bench/solver/package-lock.json build/solver/
	npm --prefix build/solver ci --no-fund --no-audit
	go run ./bench/solver -cpsat build/solver/cpsat.mjs -budget $(SOLVER_BUDGET) -instances $(SOLVER_INSTANCES)

# Its module needs a newer Go than the others, which the go command fetches, and some 5 minutes of processor time to compile.
KARPENTER_FLAGS ?=
.PHONY: bench-karpenter
bench-karpenter: ## Compare Provision and Drain with Karpenter's own simulation. KARPENTER_FLAGS=-small for a minute.
	GOTOOLCHAIN=go1.26.9+auto $(APART) bench/karpenter run . $(KARPENTER_FLAGS)

# Its module has Kubernetes v1.36.0, whose scheduler takes some 4 minutes of processor time to compile.
SCHEDULER_LIBRARY_FLAGS ?=
.PHONY: scheduler-library
scheduler-library: ## Run scheduler-library's own tests on Stowage, compare answers at random, and measure both.
	bench/schedulerlibrary/test.sh
	$(APART) bench/schedulerlibrary run . $(SCHEDULER_LIBRARY_FLAGS)

.PHONY: faults
faults: ## Test a server whose log stalls, whose disk is full, that has few descriptors or 512 MiB, or that is stopped for 10 s.
	$(GOTEST) -count=1 -v -run 'TestStalledLog|TestFullDisk|TestFewDescriptors|TestLittleMemory|TestPause' ./server/cmd/stowage-server

.PHONY: security
security: ## Print who may call what on a server with an access file, over gRPC and over HTTP, and on stowage serve.
	$(GOTEST) -count=1 -v -run 'TestIdentitiesByMethods|TestTenantsDoNotSeeEachOther|TestAccess|TestACertificateIsReplaced' ./server
	$(GOTEST) -count=1 -v -run 'TestIdentitiesByPaths|TestListen|TestOtherOrigins' ./clients/serve

# For how long `make chaos` fails replicas; all faults come in any case.
MINUTES ?= 1
.PHONY: chaos
chaos: ## Kill, stop and slow one of three replicas under load, for MINUTES: no call fails, no answer is wrong.
	@go build -o build/chaos/ ./server/cmd/stowage-server ./bench/chaos
	@build/chaos/chaos -server build/chaos/stowage-server -minutes $(MINUTES)

.PHONY: hostile
hostile: ## Attack a server of 2 GiB in every way that is known to take memory, beside a neighbour whose calls must be fast.
	@go build -o build/hostile/ ./server/cmd/stowage-server ./bench/hostile
	@build/hostile/hostile -server build/hostile/stowage-server

# Callers of a million pods each beside a neighbour; 0 overloads a server with ordinary calls. How long each load lasts.
HOSTILE ?= 0
OVERLOAD_DURATION ?= 3s
.PHONY: overload
overload: ## Put up to four times the load on a server that it can answer; HOSTILE=1000 for a neighbour of hostile callers.
	@go build -o build/overload/ ./server/cmd/stowage-server ./bench/overload
	@build/overload/overload -server build/overload/stowage-server -hostile $(HOSTILE) -duration $(OVERLOAD_DURATION)

# How many cases `make parity` compares, and from which seed on; a run that was stopped goes on from the seed it printed.
CASES ?= 100000
SEED ?= 0
# The profile of the cases, such as nominated, or all profiles in turn.
PROFILE ?= all
.PHONY: parity
parity: ## Compare CASES random cases (default 100,000) from SEED on with kube-scheduler's own code, and Place with scanning.
	$(APART) bench/parity test $(if $(FEW),-short -skip 'Matter$$') ./...
	bench/parity/hack/parity.sh -profile $(PROFILE) -cases $(CASES) -seed-from $(SEED) -workers $$(nproc)
	go test ./engine -timeout 2h -run TestPlaceEqualsScanning -placements $$((20 * $(CASES)))

# Which tests of bench/e2e `make e2e` runs, and with what; E2E_RUNS is how often a burst is repeated.
E2E_TESTS ?= .
E2E_FLAGS ?= -v
.PHONY: e2e
e2e: build ## Test Stowage in a real control plane: etcd, kube-apiserver, kube-scheduler. The first build takes minutes.
	@bin=$$(bench/e2e/tools/build.sh) && \
	  E2E_BIN=$$bin E2E_COMMANDS=$(CURDIR)/bin go test -count=1 -timeout 60m -run '$(E2E_TESTS)' $(E2E_FLAGS) ./bench/e2e

# On how many nodes `make e2e-bench` measures, and with how many pods of each kind.
E2E_NODES ?= 1000,5000
E2E_PODS ?= 600
.PHONY: e2e-bench
e2e-bench: build ## Measure how many pods a second kube-scheduler, the extender and the batch scheduler bind.
	@bin=$$(bench/e2e/tools/build.sh) && \
	  go run ./bench/e2e/throughput -bin $$bin -commands bin -nodes $(E2E_NODES) -pods $(E2E_PODS)

# The workspace has copies of two libraries, without what would double the size: clients/page/wasm/slim says why.
.PHONY: wasm
wasm: ## Build the answers for browsers, the conversion of Kubernetes objects and the engine, and CEL apart, into build/page.
	@rm -rf build/slim && mkdir -p build/slim build/page && go run ./clients/page/wasm/slim build/slim
	@export GOWORK=$(CURDIR)/build/slim/go.work GOOS=js GOARCH=wasm; \
	  go build -tags grpcnotrace -trimpath -ldflags='-s -w' -o build/page/stowage.wasm ./clients/page/wasm && \
	  go build -tags grpcnotrace -trimpath -ldflags='-s -w' -o build/page/stowage-cel.wasm ./clients/page/wasm/cel

# What is committed is clients/page/files; build/page is the same page with the engine in the browser, for any server of files.
PAGE := clients/page
# How hard brotli tries to make the programs small: 11 takes two minutes, 5 some seconds.
BROTLI ?= 11
$(PAGE)/node_modules: $(PAGE)/package-lock.json
	npm --prefix $(PAGE) ci --ignore-scripts --no-fund --no-audit && touch $@

.PHONY: page
page: wasm $(PAGE)/node_modules ## Build the page: for stowage serve, and into build/page for a server of files.
	cd $(PAGE) && npx tsc -p . && node build.mjs $(CURDIR)/build/page
	install -m 0644 "$$(go env GOROOT)/lib/wasm/wasm_exec.js" build/page/
	node $(PAGE)/pack.mjs build/page $(BROTLI)

.PHONY: test-ui
test-ui: page ## Test the answers of WebAssembly under Node.js, and the page in headless Chromium. Needs Node.js, npm and Chromium.
	$(TYPESCRIPT)/scripts/audit.sh $(PAGE)
	STOWAGE_WASM=$(CURDIR)/build/page/stowage.wasm go test -count=1 -timeout 20m -v $(SHORT) ./$(PAGE)/wasm
	@go build -o build/page-test/ ./clients/cmd/stowage
	cd $(PAGE) && node test/run.mjs $(CURDIR)/build/page-test/stowage $(CURDIR)/build/page

.PHONY: image
image: ## Build the container images into build/image, without a Docker engine.
	deploy/image/build.sh build/image

.PHONY: release
release: ## Build what a release consists of into build/release: archives, SBOMs, the chart, images, checksums. Publishes nothing.
	deploy/release/release.sh

# The modules that verify tokens, speak TLS or HTTP/2, or parse what comes from a network, and the root certificates of the images; and the
# modules of this repository that have some of them. Kubernetes stays as it is: its version is the one that decisions equal.
NETWORK := github.com/coreos/go-oidc/v3 github.com/go-jose/go-jose/v4 golang.org/x/crypto golang.org/x/crypto/x509roots/fallback \
	golang.org/x/net golang.org/x/oauth2 golang.org/x/text google.golang.org/grpc google.golang.org/protobuf
WITH_NETWORK := . deploy/image deploy/check bench/parity bench/e2e/tools bench/karpenter bench/schedulerlibrary

.PHONY: update
update: ## Bring the modules that verify tokens or speak TLS and HTTP/2 to their newest versions everywhere, and test what uses them.
	@export GOWORK=off; for dir in $(WITH_NETWORK); do \
	  echo "== $$dir"; \
	  [ $$dir = . ] || export GOTOOLCHAIN=auto; \
	  kubernetes() { go -C $$dir mod edit -json | grep -A1 '"k8s.io/' | sort; }; \
	  before=$$(kubernetes); \
	  newest=$$(go -C $$dir mod edit -json | awk -F'"' '$$2 == "Path" {print $$4}' | sort -u | \
	    grep -xF "$$(printf '%s\n' $(NETWORK))" | sed 's/$$/@latest/'); \
	  go -C $$dir get $$newest && go -C $$dir mod tidy || exit 1; \
	  [ "$$before" = "$$(kubernetes)" ] || { echo "$$dir: the version of Kubernetes would change"; exit 1; }; \
	done
	$(GOTEST) -short -timeout 20m ./server/... ./clients/connect ./clients/stowage ./clients/live ./clients/process ./bench/e2e
	$(APART) deploy/image test -timeout 5m ./...
	@for dir in deploy/check bench/parity bench/karpenter bench/schedulerlibrary; do GOTOOLCHAIN=auto $(APART) $$dir build ./... || exit 1; done
	@git diff --stat -- '*go.mod'

.PHONY: vulnerabilities
vulnerabilities: ## Check which known vulnerabilities the code reaches. Needs the Go vulnerability database.
	$(APART) deploy/release tool govulncheck -C $(CURDIR) ./...
	$(APART) deploy/release tool govulncheck -C $(CURDIR)/deploy/image ./...

.PHONY: proto-deps
proto-deps: $(PROTOVALIDATE) ## Fetch the protos that ours import.

# protovalidate's annotations come from the Go module that go.tools.mod pins and go.tools.sum verifies.
$(PROTOVALIDATE): go.tools.mod
	@mkdir -p $(@D)
	@dir=$$(GOWORK=off go mod download -modfile=go.tools.mod -json github.com/bufbuild/protovalidate | awk -F'"' '/"Dir":/{print $$4}') && \
	  install -m 0644 "$$dir/proto/protovalidate/buf/validate/validate.proto" $@ && touch $@
