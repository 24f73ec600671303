"""Clusters that are put to the server when the server does not have them."""

from __future__ import annotations

from typing import Any, Callable, Iterator, TypeVar, cast

import grpc
from stowage.errors import details
from stowage.v1.cluster_pb2 import Cluster
from stowage.v1.placement_service_pb2_grpc import PlacementServiceStub
from stowage.v1.snapshot_pb2 import ClusterDelta, PutSnapshotEnd, PutSnapshotRequest, SnapshotReference

T = TypeVar("T")


class Snapshot:
    """A cluster. Calls have its address only. The server computes addresses, also of clusters that differ by a delta."""

    def __init__(self, stub: PlacementServiceStub, cluster: Cluster | None = None, *, base: Snapshot | None = None, delta: ClusterDelta | None = None) -> None:
        if (cluster is None) == (base is None):
            raise ValueError("a snapshot has a cluster, or a base and a delta")
        self._stub, self._cluster, self._base, self._delta = stub, cluster, base, delta
        self._address: str | None = None

    def changed(self, delta: ClusterDelta) -> Snapshot:
        """The snapshot with a difference. The server gets the difference only."""
        return Snapshot(self._stub, base=self, delta=delta)

    def address(self) -> str:
        """The content address. The snapshot is put if nothing has been put yet."""
        if self._address is None:
            self._address = self._put()
        return self._address

    def ask(self, call: Callable[[SnapshotReference], T], delta: ClusterDelta | None = None) -> T:
        """Makes a call about the snapshot. If the server has dropped the snapshot, it is put again. Of a stream the first message has arrived
        when this returns."""
        for attempt in range(4):
            try:
                answer = call(SnapshotReference(address=self.address(), delta=delta))
                return cast(T, _Begun(answer)) if hasattr(answer, "__next__") else answer
            except grpc.RpcError as error:
                if attempt == 3 or details(error).reason != "UNKNOWN_SNAPSHOT":
                    raise
                self._address = None
        raise AssertionError

    def _put(self) -> str:
        if self._base is None:
            return self._send(PutSnapshotRequest(part=self._cluster))
        for attempt in range(4):
            try:
                return self._send(PutSnapshotRequest(base_address=self._base.address()), PutSnapshotRequest(delta=self._delta))
            except grpc.RpcError as error:
                if attempt == 3 or details(error).reason != "UNKNOWN_SNAPSHOT":
                    raise
                self._base._address = None
        raise AssertionError

    def _send(self, *steps: PutSnapshotRequest) -> str:
        return str(self._stub.PutSnapshot(iter([*steps, PutSnapshotRequest(end=PutSnapshotEnd())])).address)


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
