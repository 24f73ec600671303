"""Questions about Kubernetes objects, to `stowage serve`. Nothing but Python's library is needed."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

# The longest delay before a call is made again, in seconds.
MAXIMUM_DELAY = 10.0


@dataclass(frozen=True)
class Problem:
    """A problem of a call, or of an object."""

    detail: str
    object: str = ""
    field: str = ""


class ObjectsError(Exception):
    """An error of `stowage serve`. The status is HTTP's, 0 if no answer arrived."""

    def __init__(self, status: int, problems: Sequence[Problem], retry_after: float | None = None) -> None:
        super().__init__("\n".join(": ".join(filter(None, (p.object, p.field, p.detail))) for p in problems))
        self.status, self.problems, self.retry_after = status, problems, retry_after


@dataclass(frozen=True)
class Answer:
    """The document that the command prints with -o json."""

    document: dict[str, Any]
    #: 0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise.
    exit_status: int


class Objects:
    """A client of `stowage serve`. The timeout is the seconds that a question may take, with its retries."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 300.0, attempts: int = 5) -> None:
        self._url, self._token, self._timeout, self._attempts = urllib.parse.urlsplit(url.rstrip("/")), token, timeout, attempts

    def ask(self, verb: str, objects: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], **parameters: str | int | bool | Sequence[str]) -> Answer:
        """Asks a question about objects: YAML or JSON text, or the objects themselves. Parameters are the command's flags and arguments, with
        underscores instead of dashes."""
        query = urllib.parse.urlencode(
            {name.replace("_", "-"): str(v).lower() if isinstance(v, bool) else v for name, v in parameters.items()}, doseq=True
        )
        if not isinstance(objects, (str, Mapping)):
            objects = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        text = objects if isinstance(objects, str) else json.dumps(objects)
        path, body, end = f"{self._url.path}/v1/{verb}?{query}", text.encode(), time.monotonic() + self._timeout
        for attempt in range(self._attempts + 1):
            try:
                return self._post(path, body, end)
            except ObjectsError as found:
                after = found.retry_after if found.status else 0.1 * 2.0**attempt  # there is no server, or none yet
                if attempt == self._attempts or after is None or after > MAXIMUM_DELAY or time.monotonic() + after >= end:
                    raise
                time.sleep(after)
        raise AssertionError

    def _post(self, path: str, body: bytes, end: float) -> Answer:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=max(0.001, end - time.monotonic()))
        try:
            connection.connect()
            with _ended(connection.sock, end):
                response = self._request(connection, path, body)
                text = response.read()
        except (OSError, http.client.HTTPException) as error:
            late = time.monotonic() >= end
            why = f"the call took more than {self._timeout:g} s" if late else f"{self._url.netloc}: {error or type(error).__name__}"
            raise ObjectsError(0, [Problem(why)]) from error
        finally:
            connection.close()
        if response.status != 200:
            raise _error(response, text)
        return Answer(json.loads(text), int(response.headers["Stowage-Exit-Status"]))

    def _request(self, connection: http.client.HTTPConnection, path: str, body: bytes) -> http.client.HTTPResponse:
        headers = {"Authorization": "Bearer " + self._token} if self._token else {}
        try:
            connection.request("POST", path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server that refuses a body closes the connection, but has answered before
        return connection.getresponse()


class _ended:  # pylint: disable=invalid-name
    """Ends a connection at a deadline: the timeout of a socket is for each of its operations."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._timer = sock, threading.Timer(max(0.001, end - time.monotonic()), self._end)
        self._timer.daemon = True

    def _end(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _error(response: http.client.HTTPResponse, body: bytes) -> ObjectsError:
    text, after = body.decode(errors="replace"), response.headers["Retry-After"]
    try:
        problems = [Problem(p["detail"], p.get("object", ""), p.get("field", "")) for p in json.loads(text)["errors"]]
    except (ValueError, KeyError, TypeError):  # of a proxy between
        problems = [Problem(f"HTTP status {response.status}: {text[:200]}")]
    # A proxy between may send a date.
    return ObjectsError(response.status, problems, float(after) if after is not None and after.isdecimal() else None)
