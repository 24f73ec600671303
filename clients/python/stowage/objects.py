"""Questions about Kubernetes objects, to `stowage serve`. Nothing but Python's library is needed."""

from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

# The longest delay before a call is made again, in seconds.
MAXIMUM_DELAY = 10.0
LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")


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
    """A client of `stowage serve`. The timeout is the seconds that a question may take, with its retries. Beside it, connecting to each address
    of the host may take as long. A token goes over plain HTTP only to this machine, unless plain_token allows others."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 300.0, attempts: int = 5, plain_token: bool = False) -> None:
        self._url, self._token, self._timeout, self._attempts = urllib.parse.urlsplit(url.rstrip("/")), token, timeout, attempts
        if token and not plain_token and self._url.scheme != "https" and not LOOPBACK.fullmatch(self._url.hostname or ""):
            raise ValueError(f"{url}: a token needs https, or plain_token")

    def ask(
        self,
        verb: str,
        objects: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        files: Mapping[str, str] | None = None,
        **parameters: str | int | bool | Sequence[str],
    ) -> Answer:
        """Asks a question about objects: YAML or JSON text, or the objects themselves. Parameters are the command's flags and arguments, with
        underscores instead of dashes; files has the text of those that are files, such as the template of provision."""
        query = urllib.parse.urlencode(
            {name.replace("_", "-"): str(v).lower() if isinstance(v, bool) else v for name, v in parameters.items()}, doseq=True
        )
        if not isinstance(objects, (str, Mapping)):
            objects = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        headers, text = _body(objects if isinstance(objects, str) else json.dumps(objects), files)
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        path, body, end = f"{self._url.path}/v1/{verb}?{query}", text.encode(), time.monotonic() + self._timeout
        for attempt in range(self._attempts + 1):
            try:
                return self._post(path, body, headers, end)
            except ObjectsError as found:
                delay = _delay(found, attempt)
                if attempt == self._attempts or delay is None or time.monotonic() + delay >= end:
                    raise
                time.sleep(delay)
        raise AssertionError

    def _post(self, path: str, body: bytes, headers: dict[str, str], end: float) -> Answer:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=max(0.001, end - time.monotonic()))
        try:
            connection.connect()
            with _ended(connection.sock, end):
                response = _request(connection, path, body, headers)
                text = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            late = time.monotonic() >= end
            why = f"the call took more than {self._timeout:g} s" if late else f"{self._url.netloc}: {error or type(error).__name__}"
            raise ObjectsError(0, [Problem(why)]) from error
        finally:
            connection.close()
        return _answer(response, text)


def _request(connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> http.client.HTTPResponse:
    try:
        connection.request("POST", path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        pass  # a server that refuses a body closes the connection, but has answered before
    return connection.getresponse()


def _body(objects: str, files: Mapping[str, str] | None) -> tuple[dict[str, str], str]:
    """The headers and the text of a body: of objects alone, or a form as of `curl -F file=@objects.yaml -F template=@template.yaml`."""
    if not files:
        return {}, objects
    boundary = secrets.token_hex(16)
    parts = [("file", "body", objects), *((name.replace("_", "-"), name, text) for name, text in files.items())]
    form = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n{text}\r\n' for name, file, text in parts]
    return {"Content-Type": "multipart/form-data; boundary=" + boundary}, "".join(form) + f"--{boundary}--\r\n"


def _delay(error: ObjectsError, attempt: int) -> float | None:
    """The delay before a question is asked again after an error; None if it is not."""
    if error.retry_after is not None and error.status in (429, 503):
        return None if error.retry_after > MAXIMUM_DELAY else error.retry_after * (1 + random.random() / 4)
    if error.status in (0, 503):  # there is no server, or none yet
        return min(MAXIMUM_DELAY, 0.1 * 2.0**attempt) * (0.5 + random.random() / 2)
    return None


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


def _answer(response: http.client.HTTPResponse, text: str) -> Answer:
    """The answer of a response. Others than `stowage serve` may have sent it, such as a proxy."""
    exit_status, after = response.headers["Stowage-Exit-Status"], response.headers["Retry-After"]
    try:
        found = json.loads(text)
        if response.status == 200 and exit_status is not None:
            return Answer(found, int(exit_status))
        problems = [Problem(p["detail"], p.get("object", ""), p.get("field", "")) for p in found["errors"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        problems = [Problem(f"HTTP status {response.status}: {text[:200]}")]
    # A proxy may send a date.
    raise ObjectsError(response.status, problems, float(after) if after is not None and after.isdecimal() else None)
