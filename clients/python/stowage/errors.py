"""Errors of calls, with the details of the contract."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import grpc
from stowage_status import status_pb2


@dataclass(frozen=True)
class FieldViolation:
    """A field of a request that is malformed, by its path in the contract."""

    field: str
    description: str
    reason: str


@dataclass(frozen=True)
class Details:
    """What the contract says of an error."""

    code: int = 2
    message: str = ""
    #: The ErrorReason of the contract, such as UNKNOWN_SNAPSHOT; empty for none.
    reason: str = ""
    domain: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    #: The malformed fields of an INVALID_REQUEST.
    fields: Sequence[FieldViolation] = ()
    #: After how many seconds the server expects a retry; None if it expects none.
    retry_after: float | None = None


def details(error: grpc.RpcError) -> Details:
    """Returns the details of an error."""
    call: Any = error
    code = call.code().value[0]
    found: dict[str, Any] = {"code": code, "message": call.details() or ""}
    for key, value in call.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in status_pb2.Status.FromString(value).details:
            kind = detail.type_url.rpartition("/")[2]
            if kind == "google.rpc.ErrorInfo":
                info = status_pb2.ErrorInfo.FromString(detail.value)
                found |= {"reason": info.reason, "domain": info.domain, "metadata": dict(info.metadata)}
            elif kind == "google.rpc.BadRequest":
                bad = status_pb2.BadRequest.FromString(detail.value)
                found["fields"] = tuple(FieldViolation(v.field, v.description, v.reason) for v in bad.field_violations)
            elif kind == "google.rpc.RetryInfo":
                found["retry_after"] = status_pb2.RetryInfo.FromString(detail.value).retry_delay.ToNanoseconds() / 1e9
    return Details(**found)
