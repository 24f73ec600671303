"""Questions about Kubernetes objects, to `stowage serve`. Nothing but Python's library is needed."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
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
    """An error of `stowage serve`."""

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
        self._url, self._token, self._timeout, self._attempts = url.rstrip("/"), token, timeout, attempts

    def ask(self, verb: str, objects: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], **parameters: str | int | bool | Sequence[str]) -> Answer:
        """Asks a question about objects: YAML or JSON text, or the objects themselves. Parameters are the command's flags and arguments, with
        underscores instead of dashes."""
        query = urllib.parse.urlencode(
            {name.replace("_", "-"): str(v).lower() if isinstance(v, bool) else v for name, v in parameters.items()}, doseq=True
        )
        if not isinstance(objects, (str, Mapping)):
            objects = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        body = objects if isinstance(objects, str) else json.dumps(objects)
        headers = {"Authorization": "Bearer " + self._token} if self._token else {}
        request = urllib.request.Request(f"{self._url}/v1/{verb}?{query}", body.encode(), headers)
        end = time.monotonic() + self._timeout
        for attempt in range(self._attempts + 1):
            try:
                with urllib.request.urlopen(request, timeout=max(0.001, end - time.monotonic())) as response:
                    return Answer(json.load(response), int(response.headers["Stowage-Exit-Status"]))
            except urllib.error.HTTPError as error:
                found = _error(error)
                after = found.retry_after
                if attempt == self._attempts or after is None or after > MAXIMUM_DELAY or time.monotonic() + after >= end:
                    raise found from None
                time.sleep(after)
            except urllib.error.URLError:  # there is no server, or none yet
                delay = 0.1 * 2.0**attempt
                if attempt == self._attempts or time.monotonic() + delay >= end:
                    raise
                time.sleep(delay)
        raise AssertionError


def _error(error: urllib.error.HTTPError) -> ObjectsError:
    text, after = error.read().decode(errors="replace"), error.headers["Retry-After"]
    try:
        problems = [Problem(p["detail"], p.get("object", ""), p.get("field", "")) for p in json.loads(text)["errors"]]
    except (ValueError, KeyError, TypeError):  # of a proxy between
        problems = [Problem(f"HTTP status {error.code}: {text[:200]}")]
    # A proxy between may send a date.
    return ObjectsError(error.code, problems, float(after) if after is not None and after.isdecimal() else None)
