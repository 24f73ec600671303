# Stowage: scheduling decisions as a service.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=go.tools.mod
BUF  := $(TOOL) buf
PROTOVALIDATE := build/protovalidate/buf/validate/validate.proto

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# protovalidate's annotations come from the Go module that go.tools.mod pins and go.tools.sum verifies.
$(PROTOVALIDATE): go.tools.mod
	@mkdir -p $(@D)
	@dir=$$(go mod download -modfile=go.tools.mod -json github.com/bufbuild/protovalidate | awk -F'"' '/"Dir":/{print $$4}') && \
	  install -m 0644 "$$dir/proto/protovalidate/buf/validate/validate.proto" $@

.PHONY: proto-deps
proto-deps: $(PROTOVALIDATE) ## Fetch the protos that ours import.

.PHONY: generate
generate: $(PROTOVALIDATE) ## Regenerate what is generated.
	$(BUF) format -w proto
	$(BUF) generate
