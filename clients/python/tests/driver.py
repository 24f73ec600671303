"""Calls methods for a test: a line of standard input is a call, with the messages of its request in JSON, and a line of standard output its
answer. bench/clients runs the corpora through it."""

from __future__ import annotations

import json
import sys
from typing import Any

import grpc
from google.protobuf import json_format
from stowage.channel import connect
from stowage.errors import Details, details
from stowage.v1 import placement_service_pb2, placement_service_pb2_grpc, simulation_service_pb2, simulation_service_pb2_grpc

channel = connect(sys.argv[1])
methods: dict[str, tuple[Any, Any]] = {}
for module, stub in (
    (placement_service_pb2, placement_service_pb2_grpc.PlacementServiceStub(channel)),
    (simulation_service_pb2, simulation_service_pb2_grpc.SimulationServiceStub(channel)),
):
    for service in module.DESCRIPTOR.services_by_name.values():
        for method in service.methods:
            methods[f"/{service.full_name}/{method.name}"] = (method, getattr(stub, method.name))


def error_of(found: Details) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc."
    listed: list[dict[str, Any]] = []
    if found.reason:
        listed.append({"@type": kind + "ErrorInfo", "reason": found.reason, "domain": found.domain, "metadata": found.metadata})
    if found.fields:
        listed.append({"@type": kind + "BadRequest", "fieldViolations": [vars(v) for v in found.fields]})
    if found.retry_after is not None:
        listed.append({"@type": kind + "RetryInfo", "retryDelay": f"{found.retry_after}s"})
    return {"code": found.code, "message": found.message, "details": listed}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    method, call = methods[asked["method"]]
    requests = [json_format.ParseDict(m, method.input_type._concrete_class()) for m in asked["messages"]]
    streams = method.name == "PutSnapshot"
    messages: list[Any] = []
    try:
        result = call(iter(requests) if streams else requests[0])
        for message in [result] if isinstance(result, method.output_type._concrete_class) else result:
            messages.append(json_format.MessageToDict(message))
    except grpc.RpcError as error:
        return {"messages": messages, "error": error_of(details(error))}
    return {"messages": messages}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
