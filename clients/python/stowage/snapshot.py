"""Clusters that are put to the server when the server does not have them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable, Iterator, TypeVar, cast

import grpc
from stowage.errors import details
from stowage.v1.cluster_pb2 import Cluster
from stowage.v1.placement_service_pb2_grpc import PlacementServiceStub
from stowage.v1.snapshot_pb2 import ClusterDelta, PutSnapshotEnd, PutSnapshotRequest, SnapshotReference

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Put:
    """A put. Calls that fail at the same time forget it once, so that the cluster is put again once."""

    address: str


class Snapshot:
    """A cluster. Calls have its address only. The server computes addresses, also of clusters that differ by a delta. Threads may share it."""

    def __init__(self, stub: PlacementServiceStub, cluster: Cluster | None = None, *, base: Snapshot | None = None, delta: ClusterDelta | None = None) -> None:
        if (cluster is None) == (base is None):
            raise ValueError("a snapshot has a cluster, or a base and a delta")
        self._stub, self._cluster, self._base, self._delta = stub, cluster, base, delta
        self._put: _Put | None = None
        self._lock: threading.Lock = threading.Lock() if base is None else base._lock

    def changed(self, delta: ClusterDelta) -> Snapshot:
        """The snapshot with a difference. The server gets the difference only. All differences are kept for a server that starts again: after
        some hundreds, start with a new, whole cluster."""
        return Snapshot(self._stub, base=self, delta=delta)

    def address(self) -> str:
        """The content address. The snapshot is put if nothing has been put yet."""
        return self._known().address

    def ask(self, call: Callable[[SnapshotReference], T], delta: ClusterDelta | None = None) -> T:
        """Makes a call about the snapshot. If the server has dropped the snapshot, it is put again. Of a stream the first message has arrived
        when this returns."""
        for attempt in range(4):
            put = self._known()
            try:
                answer = call(SnapshotReference(address=put.address, delta=delta))
                return cast(T, _Begun(answer)) if hasattr(answer, "__next__") else answer
            except grpc.RpcError as error:
                if attempt == 3 or details(error).reason != "UNKNOWN_SNAPSHOT":
                    raise
                with self._lock:
                    if self._put is put:
                        self._put = None
        raise AssertionError

    def _known(self) -> _Put:
        """The put of the snapshot, after those that it differs from. No recursion: they may be many."""
        failures: Counter[Snapshot] = Counter()
        with self._lock:
            chain = [self]
            while True:
                last = chain[-1]
                if last._put is None and last._base is not None and last._base._put is None:
                    chain.append(last._base)
                    continue
                try:
                    last._put = last._put or last._send()
                except grpc.RpcError as error:
                    failures[last] += 1
                    if last._base is None or failures[last] > 3 or details(error).reason != "UNKNOWN_SNAPSHOT":
                        raise
                    last._base._put = None
                    continue
                if len(chain) == 1:
                    return last._put
                chain.pop()

    def _send(self) -> _Put:
        steps = [PutSnapshotRequest(part=self._cluster), PutSnapshotRequest(end=PutSnapshotEnd())]
        if self._base is not None and self._base._put is not None:
            steps = [PutSnapshotRequest(base_address=self._base._put.address), PutSnapshotRequest(delta=self._delta), PutSnapshotRequest(end=PutSnapshotEnd())]
        return _Put(self._stub.PutSnapshot(iter(steps)).address)


class _Begun:
    """A stream of which the first message has arrived: until then, it has not failed."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._first = stream, list(_first(stream))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._first.pop() if self._first else next(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _first(stream: Iterator[Any]) -> Iterator[Any]:
    """The first message, unless there is none."""
    for message in stream:
        yield message
        return
