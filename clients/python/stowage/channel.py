"""Channels to a server, whose calls are made again when the server says."""

from __future__ import annotations

import random
import re
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator, NamedTuple, Sequence

import grpc
from stowage.errors import details

# The largest message of an answer.
ANSWER_BYTES = 256 << 20


@dataclass(frozen=True)
class Retries:
    """How often a call is made again, and the longest delay before, in seconds."""

    attempts: int = 5
    maximum_delay: float = 10.0

    def delay(self, error: BaseException, attempt: int) -> float | None:
        """The delay before a call is made again after an error; None if it is not."""
        if attempt >= self.attempts or not isinstance(error, grpc.RpcError):
            return None  # a closed channel is no RpcError
        found = details(error)
        unavailable = found.code == grpc.StatusCode.UNAVAILABLE.value[0]
        after = found.retry_after
        # The server knows when: a RESOURCE_EXHAUSTED without a delay is one that a retry would not help.
        if after is not None and (unavailable or found.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]):
            return None if after > self.maximum_delay else after * (1 + random.random() / 4)
        return min(self.maximum_delay, 0.1 * 2.0**attempt) * (0.5 + random.random() / 2) if unavailable else None


# gRPC's own delays grow to two minutes, for which calls fail although the server is there again.
OPTIONS = [
    ("grpc.max_receive_message_length", ANSWER_BYTES), ("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000),
]
LOOPBACK = re.compile(r"unix:.*|(dns:/*|ipv[46]:)?(localhost|127(\.\d+){3}|\[::1\])(:\d+)?")


def connect(
    address: str,
    credentials: grpc.ChannelCredentials | None = None,
    token: Callable[[], str] | str | None = None,
    retries: Retries = Retries(),
    plain_token: bool = False,
) -> grpc.Channel:
    """Connects to a server. Without credentials the connection is not encrypted, and a token goes to this machine only, unless plain_token
    allows others. The stubs of stowage.v1 take the channel. A method's future() returns when its call has ended: use threads."""
    if credentials is None and token is not None and not plain_token and not LOOPBACK.fullmatch(address):
        raise ValueError(f"{address}: a token needs credentials, or plain_token")
    channel = (
        grpc.insecure_channel(address, OPTIONS) if credentials is None else grpc.secure_channel(address, credentials, OPTIONS)
    )
    return grpc.intercept_channel(channel, _Interceptor(token, retries))


class _CallDetails(NamedTuple):
    method: str
    timeout: float | None
    metadata: Sequence[tuple[str, str]]
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _Interceptor(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor):  # type: ignore[misc]
    def __init__(self, token: Callable[[], str] | str | None, retries: Retries) -> None:
        self._token, self._retries = token, retries

    def _with_headers(self, d: Any, left: float | None) -> _CallDetails:
        headers = [*(d.metadata or ()), ("stowage-max-answer-bytes", str(ANSWER_BYTES))]
        if self._token is not None:
            headers.append(("authorization", "Bearer " + (self._token() if callable(self._token) else self._token)))
        return _CallDetails(d.method, left, headers, d.credentials, d.wait_for_ready, d.compression)

    def _again(self, d: Any, call: Callable[[_CallDetails], Any]) -> Any:
        """Makes a call until it has an answer, or an error that a retry does not help."""
        end = None if d.timeout is None else time.monotonic() + d.timeout
        attempt = 0
        while True:
            made = call(self._with_headers(d, None if end is None else max(0.0, end - time.monotonic())))
            error = made.exception()
            delay = None if error is None else self._retries.delay(error, attempt)
            if delay is None or (end is not None and time.monotonic() + delay >= end):
                return made
            time.sleep(delay)
            attempt += 1

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return self._again(client_call_details, lambda d: continuation(d, request))

    def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        requests = list(request_iterator)
        return self._again(client_call_details, lambda d: continuation(d, iter(requests)))

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return _Stream(self, continuation, client_call_details, request)


class _Stream:
    """The messages of an answer. Until the first one arrives the call is made again."""

    def __init__(self, interceptor: _Interceptor, continuation: Any, d: Any, request: Any) -> None:
        self._interceptor, self._continuation, self._details, self._request = interceptor, continuation, d, request
        self._end = None if d.timeout is None else time.monotonic() + d.timeout
        self._cancelled = threading.Event()
        self._attempt: int | None = 0
        self._call = self._make()

    def _make(self) -> Any:
        return self._continuation(self._interceptor._with_headers(self._details, self._left()), self._request)

    def _left(self) -> float | None:
        """The seconds until the deadline, which all attempts have in common."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        while True:
            try:
                message = next(self._call)
                self._attempt = None
                return message
            except grpc.RpcError as error:
                delay = None if self._attempt is None else self._interceptor._retries.delay(error, self._attempt)
                left = self._left()
                if self._attempt is None or delay is None or (left is not None and delay >= left) or self._cancelled.wait(delay):
                    raise
                self._attempt += 1
                self._call = self._make()
                if self._cancelled.is_set():  # meanwhile
                    self._call.cancel()

    def cancel(self) -> bool:
        """Ends the call, also while it waits to be made again."""
        self._cancelled.set()
        return bool(self._call.cancel())

    def __getattr__(self, name: str) -> Any:
        """What else gRPC's calls have is of the last attempt, such as code()."""
        return getattr(self._call, name)
