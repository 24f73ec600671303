"""Channels to a server, whose calls are made again when the server says."""

from __future__ import annotations

import random
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

    def delay(self, error: grpc.RpcError, attempt: int) -> float | None:
        """The delay before a call is made again after an error; None if it is not."""
        found = details(error)
        if attempt >= self.attempts:
            return None
        if found.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]:
            # The server knows when: it has no pushback where a retry would not help.
            after = found.retry_after
            return None if after is None or after > self.maximum_delay else after * (1 + random.random() / 4)
        if found.code == grpc.StatusCode.UNAVAILABLE.value[0]:
            return min(self.maximum_delay, 0.1 * 2.0**attempt) * (0.5 + random.random() / 2)
        return None


def connect(
    address: str,
    credentials: grpc.ChannelCredentials | None = None,
    token: Callable[[], str] | str | None = None,
    retries: Retries = Retries(),
) -> grpc.Channel:
    """Connects to a server. Without credentials the connection is not encrypted. The stubs of stowage.v1 take the channel."""
    options = [("grpc.max_receive_message_length", ANSWER_BYTES), ("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0)]
    channel = (
        grpc.insecure_channel(address, options) if credentials is None else grpc.secure_channel(address, credentials, options)
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
        self._end = None if d.timeout is None else time.monotonic() + d.timeout
        self._make: Callable[[], Any] = lambda: continuation(interceptor._with_headers(d, self._left()), request)
        self._retries = interceptor._retries
        self._call = self._make()
        self._attempt: int | None = 0

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
                delay = None if self._attempt is None else self._retries.delay(error, self._attempt)
                left = self._left()
                if self._attempt is None or delay is None or (left is not None and delay >= left):
                    raise
                time.sleep(delay)
                self._attempt += 1
                self._call = self._make()

    def cancel(self) -> None:
        """Ends the call."""
        self._call.cancel()
