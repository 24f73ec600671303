#!/usr/bin/env bash
# Generates the messages and stubs of the contract, with types, into stowage/v1, buf and stowage_status.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf stowage/v1 buf stowage_status
protos=$(cd ../../proto && ls stowage/v1/*.proto)
# shellcheck disable=SC2086 # the names have no spaces
protoc -I ../../proto -I ../../build/protovalidate -I proto --python_out=. --pyi_out=. --grpc_python_out=. --mypy_grpc_out=. \
  --plugin=protoc-gen-grpc_python="$(command -v grpc_python_plugin)" $protos buf/validate/validate.proto stowage_status/status.proto
touch stowage/v1/__init__.py buf/__init__.py buf/validate/__init__.py stowage_status/__init__.py
