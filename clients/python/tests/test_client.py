"""Tests of the client against servers of their own."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

import grpc
from examples.scheduler import decide
from google.protobuf import any_pb2, duration_pb2
from stowage.channel import Retries, connect
from stowage.errors import FieldViolation, details
from stowage.objects import Objects, ObjectsError
from stowage.snapshot import Snapshot
from stowage.v1 import cluster_pb2, context_pb2, placement_service_pb2, placement_service_pb2_grpc, server_info_pb2, snapshot_pb2
from stowage_status import status_pb2


def refuse(context: grpc.ServicerContext, code: grpc.StatusCode, reason: str, *more: Any, **metadata: str) -> None:
    """Ends a call with an error as the server has them."""
    listed = [any_pb2.Any(type_url="type.googleapis.com/google.rpc." + type(m).__name__, value=m.SerializeToString())
              for m in (status_pb2.ErrorInfo(reason=reason, domain="stowage-scheduler.github.io", metadata=metadata), *more)]
    text = status_pb2.Status(code=code.value[0], message="m", details=listed).SerializeToString()
    context.set_trailing_metadata((("grpc-status-details-bin", text),))
    context.abort(code, "m")


class Server(placement_service_pb2_grpc.PlacementServiceServicer):
    """A server that answers as a test says."""

    def __init__(self) -> None:
        self.have: set[str] = set()
        self.puts, self.calls, self.seen, self.headers = 0, 0, [], {}  # type: ignore[var-annotated]
        self.delay, self.ended = 0, threading.Event()

    def GetServerInfo(self, request: Any, context: Any) -> Any:
        self.calls += 1
        self.headers = dict(context.invocation_metadata())
        if self.calls == 1:
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", status_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=200_000_000)))
        if self.calls == 3:
            refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "REQUEST_TOO_LARGE")
        return server_info_pb2.GetServerInfoResponse(release="r")

    def PlaceStream(self, request: Any, context: Any) -> Any:
        self.calls += 1
        context.add_callback(self.ended.set)
        if self.delay:
            refuse(context, grpc.StatusCode.UNAVAILABLE, "", status_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=self.delay)))
        if self.calls == 1:
            refuse(context, grpc.StatusCode.UNAVAILABLE, "")
        address = request.place.context.snapshot.address
        if address and address not in self.have:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "UNKNOWN_SNAPSHOT")
        yield placement_service_pb2.PlaceStreamResponse(placed_count=1)
        yield placement_service_pb2.PlaceStreamResponse(placed_count=2)
        if request.pods_per_message:  # a caller may leave now
            self.ended.wait(30)
        refuse(context, grpc.StatusCode.UNAVAILABLE, "")

    def PutSnapshot(self, requests: Any, context: Any) -> Any:
        steps = list(requests)
        base = steps[0].base_address
        if base and base not in self.have:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "UNKNOWN_SNAPSHOT")
        address = base + "+" if base else "a"
        self.puts += 1
        self.have.add(address)
        return snapshot_pb2.PutSnapshotResponse(address=address)

    def Filter(self, request: Any, context: Any) -> Any:
        address = request.context.snapshot.address
        self.seen.append(address)
        if not address:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", status_pb2.BadRequest(
                field_violations=[status_pb2.BadRequest.FieldViolation(field="pod", description="is required", reason="REQUIRED")]))
        if address not in self.have:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "UNKNOWN_SNAPSHOT")
        return placement_service_pb2.FilterResponse()


class ContractTest(unittest.TestCase):
    """Calls of the contract."""

    def setUp(self) -> None:
        self.service, server = Server(), grpc.server(futures.ThreadPoolExecutor(4))
        placement_service_pb2_grpc.add_PlacementServiceServicer_to_server(self.service, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(server.stop, None)
        self.channel = connect(f"127.0.0.1:{port}", token=lambda: "t")
        self.addCleanup(self.channel.close)
        self.stub = placement_service_pb2_grpc.PlacementServiceStub(self.channel)

    def test_pushback(self) -> None:
        """A call is made again when the server says so, and not otherwise."""
        began = time.monotonic()
        self.assertEqual(self.stub.GetServerInfo(server_info_pb2.GetServerInfoRequest()).release, "r")
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        self.assertEqual(self.service.headers["authorization"], "Bearer t")
        self.assertEqual(self.service.headers["stowage-max-answer-bytes"], str(256 << 20))
        with self.assertRaises(grpc.RpcError) as raised:
            self.stub.GetServerInfo(server_info_pb2.GetServerInfoRequest())
        self.assertEqual((details(raised.exception).reason, self.service.calls), ("REQUEST_TOO_LARGE", 3))

    def test_streams(self) -> None:
        """A stream is begun again until its first message, and not later."""
        got = []
        with self.assertRaises(grpc.RpcError):
            for part in self.stub.PlaceStream(placement_service_pb2.PlaceStreamRequest()):
                got.append(part.placed_count)
        self.assertEqual((got, self.service.calls), ([1, 2], 2))

    def test_left_stream(self) -> None:
        """The call of a stream ends when nobody has it any more."""
        self.service.calls = 1
        for _ in self.stub.PlaceStream(placement_service_pb2.PlaceStreamRequest(pods_per_message=1)):
            break
        self.assertTrue(self.service.ended.wait(10))

    def test_cancelled_delay(self) -> None:
        """A stream that waits to be made again ends when it is cancelled, and is not made again."""
        self.service.delay = 9
        stream = self.stub.PlaceStream(placement_service_pb2.PlaceStreamRequest())
        threading.Timer(0.5, stream.cancel).start()
        began = time.monotonic()
        with self.assertRaises(grpc.RpcError):
            next(stream)
        self.assertLess(time.monotonic() - began, 8)
        self.assertEqual((self.service.calls, stream.code()), (1, grpc.StatusCode.UNAVAILABLE))

    def test_closed(self) -> None:
        """The error of a closed channel is gRPC's."""
        self.channel.close()
        with self.assertRaises(ValueError):
            self.stub.GetServerInfo(server_info_pb2.GetServerInfoRequest())
        with self.assertRaises(ValueError):
            next(self.stub.PlaceStream(placement_service_pb2.PlaceStreamRequest()))

    def test_plain_token(self) -> None:
        """A token goes over a connection without encryption to this machine only."""
        for address in ("localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/a", "dns:///localhost:1"):
            connect(address, token="t").close()
        for address in ("a.example:1", "127.0.0.1.example:1", "dns:///a.example:1"):
            with self.assertRaises(ValueError):
                connect(address, token="t")
            connect(address, token="t", plain_token=True).close()
            connect(address).close()
            connect(address, grpc.ssl_channel_credentials(), "t").close()

    def test_fields(self) -> None:
        """An error has the paths of fields."""
        with self.assertRaises(grpc.RpcError) as raised:
            self.stub.Filter(placement_service_pb2.FilterRequest())
        found = details(raised.exception)
        self.assertEqual((found.code, found.reason, found.fields), (3, "INVALID_REQUEST", (FieldViolation("pod", "is required", "REQUIRED"),)))

    def test_snapshots(self) -> None:
        """A snapshot is put when the server does not have it, with its deltas."""
        cluster = Snapshot(self.stub, cluster_pb2.Cluster(nodes=[cluster_pb2.Node(name="n")]))
        changed = cluster.changed(snapshot_pb2.ClusterDelta(removed_nodes=["n"]))
        for s in (cluster, changed):
            s.ask(lambda of: self.stub.Filter(placement_service_pb2.FilterRequest(context=context_pb2.DecisionContext(snapshot=of))))
        self.assertEqual(self.service.puts, 2)
        self.service.have.clear()  # the server has started again
        changed.ask(lambda of: self.stub.Filter(placement_service_pb2.FilterRequest(context=context_pb2.DecisionContext(snapshot=of))))
        self.assertEqual((self.service.puts, self.service.seen), (4, ["a", "a+", "a+", "a+"]))

    def test_threads(self) -> None:
        """Threads put a cluster once, also after the server has dropped it."""
        cluster = Snapshot(self.stub, cluster_pb2.Cluster())
        together = threading.Barrier(4)  # the server has four threads

        def ask(_: int) -> None:
            cluster.ask(lambda of: (together.wait(10) if of.address not in self.service.seen else None, self.stub.Filter(
                placement_service_pb2.FilterRequest(context=context_pb2.DecisionContext(snapshot=of)))))

        with futures.ThreadPoolExecutor(4) as threads:
            for puts in (1, 2):
                list(threads.map(ask, range(4)))
                self.assertEqual(self.service.puts, puts)
                self.service.have.clear()

    def test_many_deltas(self) -> None:
        """A snapshot may have more deltas than calls may be nested."""
        class Stub:
            puts = 0

            def PutSnapshot(self, steps: Any) -> Any:
                self.puts += 1
                return snapshot_pb2.PutSnapshotResponse(address=str(self.puts))

        last = Snapshot(Stub(), cluster_pb2.Cluster())  # type: ignore[arg-type]
        for _ in range(3000):
            last = last.changed(snapshot_pb2.ClusterDelta())
        self.assertEqual(last.address(), "3001")

    def test_streams_about_snapshots(self) -> None:
        """A snapshot is put again for a stream, too."""
        cluster = Snapshot(self.stub, cluster_pb2.Cluster(nodes=[cluster_pb2.Node(name="n")]))
        cluster.address()
        self.service.have.clear()  # the server has started again
        self.service.calls = 1
        ask = placement_service_pb2.PlaceStreamRequest
        stream = cluster.ask(lambda of: self.stub.PlaceStream(
            ask(place=placement_service_pb2.PlaceRequest(context=context_pb2.DecisionContext(snapshot=of)))))
        self.assertEqual(([next(stream).placed_count, next(stream).placed_count], self.service.puts), ([1, 2], 2))
        with self.assertRaises(grpc.RpcError):
            next(stream)
        stream.cancel()

    def test_no_server(self) -> None:
        """A call without a server ends with its deadline."""
        stub = placement_service_pb2_grpc.PlacementServiceStub(connect("127.0.0.1:1", retries=Retries(attempts=50)))
        began = time.monotonic()
        with self.assertRaises(grpc.RpcError):
            stub.GetServerInfo(server_info_pb2.GetServerInfoRequest(), timeout=0.5)
        with self.assertRaises(grpc.RpcError):
            next(stub.PlaceStream(placement_service_pb2.PlaceStreamRequest(), timeout=0.5))
        self.assertLess(time.monotonic() - began, 5)

    def test_reconnects(self) -> None:
        """A channel looks for a server that is away more often than once in some seconds."""
        url, seen = answering(self, lambda connection: None)
        stub = placement_service_pb2_grpc.PlacementServiceStub(connect(url.removeprefix("http://")))
        with self.assertRaises(grpc.RpcError):
            stub.GetServerInfo(server_info_pb2.GetServerInfoRequest())
        self.assertGreaterEqual(len(seen), 4)


AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]}}


class Kubernetes(BaseHTTPRequestHandler):
    """An API server with two nodes, one of them full, and six pods."""

    pods = {name: {
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}}, "status": {"phase": "Pending"},
        "spec": {"schedulerName": scheduler, "affinity": AFFINITY, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
    } for name, scheduler in {"a": "stowage", "b": "stowage", "c": "stowage", "other": "default-scheduler"}.items()}
    pods["cheap"] = {
        "metadata": {"name": "cheap", "namespace": "default", "uid": "cheap"}, "status": {"phase": "Running"},
        "spec": {"nodeName": "full", "priority": 0, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]},
    }
    pods["urgent"] = {
        "metadata": {"name": "urgent", "namespace": "default", "uid": "urgent"}, "status": {"phase": "Pending"},
        "spec": {
            "schedulerName": "stowage", "priority": 1000, "nodeSelector": {"kubernetes.io/hostname": "full"},
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}],
        },
    }
    pods["claiming"] = {
        "metadata": {"name": "claiming", "namespace": "default", "uid": "claiming"}, "status": {"phase": "Pending"},
        "spec": {
            "schedulerName": "stowage", "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    claim = {
        "metadata": {"name": "data", "namespace": "default", "uid": "data"}, "status": {"phase": "Pending"},
        "spec": {"storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    late = {"metadata": {"name": "late", "uid": "late"}, "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    nodes = [{"metadata": {"name": n, "uid": n, "labels": {"kubernetes.io/hostname": n}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}} for n in ("n1", "n2", "full")]

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        """Lists objects."""
        items = {
            "/api/v1/nodes": self.nodes, "/api/v1/pods": list(self.pods.values()), "/api/v1/namespaces": [{"metadata": {"name": "default", "uid": "ns"}}],
            "/api/v1/persistentvolumeclaims": [self.claim], "/apis/storage.k8s.io/v1/storageclasses": [self.late],
        }.get(self.path)
        version = self.path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
        self.answer(404 if items is None else 200, {"apiVersion": version, "items": items})

    def do_POST(self) -> None:  # pylint: disable=invalid-name
        """Binds a pod."""
        binding = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.pods[self.path.split("/")[-2]]["spec"]["nodeName"] = binding["target"]["name"]  # type: ignore[index]
        self.answer(201, {})

    def answer(self, status: int, body: object) -> None:
        """Sends JSON."""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
        """Prints nothing."""


class Proxy(BaseHTTPRequestHandler):
    """Answers as a path says: STATUS/RETRY-AFTER/BODY."""

    asked: list[float] = []

    def do_POST(self) -> None:  # pylint: disable=invalid-name
        """Answers a request."""
        self.asked.append(time.monotonic())
        self.rfile.read(int(self.headers["Content-Length"]))
        status, after, body = urllib.parse.unquote(self.path).removeprefix("/v1/").rstrip("?").split("/", 2)
        self.send_response(int(status))
        if after:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # pylint: disable=redefined-builtin
        """Prints nothing."""


def answering(test: unittest.TestCase, serve: Callable[[socket.socket], None]) -> tuple[str, list[int]]:
    """Starts a server of connections. Returns its URL, and a list with a number for each connection."""
    listener, seen = socket.create_server(("127.0.0.1", 0)), []  # type: ignore[var-annotated]
    test.addCleanup(listener.close)

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            seen.append(len(seen))
            with connection:
                try:
                    serve(connection)
                except OSError:
                    pass

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", seen


def trickling(connection: socket.socket) -> None:
    """Answers byte by byte."""
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\nStowage-Exit-Status: 0\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        connection.sendall(b" ")
        time.sleep(0.1)


def refusing(connection: socket.socket) -> None:
    """Refuses a body that it does not read, as net/http does."""
    connection.recv(1 << 10)
    connection.sendall(b"HTTP/1.1 413 Large\r\nContent-Length: 41\r\nConnection: close\r\n\r\n" + b'{"errors":[{"detail":"it is too large"}]}')
    connection.shutdown(socket.SHUT_WR)
    time.sleep(0.2)


class ObjectsTest(unittest.TestCase):
    """Questions about objects, to `stowage serve`."""

    def test_refused_body(self) -> None:
        """The refusal of a body is the error, although the server closes the connection before it has the body."""
        url, seen = answering(self, refusing)
        with self.assertRaises(ObjectsError) as raised:
            Objects(url).ask("place", "x" * (32 << 20))
        self.assertEqual((raised.exception.status, seen), (413, [0]))

    def test_slow_answer(self) -> None:
        """The timeout is of the whole call, also if bytes of an answer arrive all the time."""
        url, _ = answering(self, trickling)
        began = time.monotonic()
        with self.assertRaises(ObjectsError) as raised:
            Objects(url, timeout=0.5).ask("place", "x")
        self.assertLess(time.monotonic() - began, 8)
        self.assertEqual((raised.exception.status, str(raised.exception)), (0, "the call took more than 0.5 s"))

    def test_lost_connection(self) -> None:
        """A call is made again if the server ends the connection without an answer, or is not there."""
        url, seen = answering(self, lambda connection: None)
        for at, attempts in ((url, 2), ("http://127.0.0.1:1", 1)):
            with self.assertRaises(ObjectsError) as raised:
                Objects(at, attempts=attempts).ask("place", "x")
            self.assertEqual(raised.exception.status, 0)
        self.assertEqual(seen, [0, 1, 2])

    def test_proxy(self) -> None:
        """A delay is waited for, unless it is too long or a date. Without one, a 503 is asked again, a 429 is not."""
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        url, date = f"http://127.0.0.1:{proxy.server_port}", "Wed, 21 Oct 2026 07:28:00 GMT"

        def asked(answer: str, shown: str, **options: float) -> int:
            Proxy.asked.clear()
            with self.assertRaises(ObjectsError) as raised:
                Objects(url, attempts=1, **options).ask(urllib.parse.quote(answer, ""), "x")  # type: ignore[arg-type]
            self.assertEqual(raised.exception.status, int(answer[:3]))
            self.assertIn(shown, str(raised.exception))
            return len(Proxy.asked)

        self.assertEqual(asked("503/1/<html>", "<html>"), 2)
        self.assertGreaterEqual(Proxy.asked[1] - Proxy.asked[0], 1)
        self.assertEqual([asked(a, "<html>") for a in ("503//<html>", "503/3600/<html>", "429//<html>", f"429/{date}/<html>")], [2, 1, 1, 1])
        self.assertEqual(asked("503/5/<html>", "<html>", timeout=4), 1)  # it would be asked again after the timeout
        for body in ('{"message":"no"}', '{"errors":["x"]}', "[]", "<html>"):
            self.assertEqual((asked(f"401//{body}", body), asked(f"200//{body}", body)), (1, 1))

    def test_plain_token(self) -> None:
        """A token goes over plain HTTP to this machine only."""
        for url in ("https://a.example", "http://localhost:1", "http://127.0.0.1", "http://[::1]:1/"):
            Objects(url, "t")
        with self.assertRaises(ValueError):
            Objects("http://127.0.0.1.example", "t")
        Objects("http://a.example", "t", plain_token=True)

    def test_scheduler(self) -> None:
        """The scheduler binds the pods of its name, each on a node of its own, but neither a pod that preempts nor a pod with a claim."""
        kubernetes = ThreadingHTTPServer(("127.0.0.1", 0), Kubernetes)
        threading.Thread(target=kubernetes.serve_forever, daemon=True).start()
        self.addCleanup(kubernetes.server_close)
        self.addCleanup(kubernetes.shutdown)
        command = [os.environ.get("STOWAGE", "../../bin/stowage"), "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serve:
            try:
                found = re.search(r"http://[^/ ]+", serve.stderr.readline())  # type: ignore[union-attr]
                stowage = Objects(found[0])  # type: ignore[index]
                bound = decide(f"http://127.0.0.1:{kubernetes.server_port}", stowage, "stowage")
                self.assertEqual((sorted(bound), sorted(bound.values())), (["default/a", "default/b"], ["n1", "n2"]))
                with self.assertRaises(ObjectsError) as raised:
                    stowage.ask("place", "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: x}}}]}")
                problem = raised.exception.problems[0]
                self.assertEqual((raised.exception.status, problem.object), (400, "body: document 1: Pod x"))
                self.assertTrue(problem.field.startswith("spec.containers[0].resources.requests"), problem)
                self.assertNotIn("spec.containers", problem.detail)
                template = {"apiVersion": "v1", "kind": "Node", **Kubernetes.nodes[0], "metadata": {"name": "new", "annotations": {"stowage.scheduling/price": "1"}}}
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
                self.assertEqual(stowage.ask("provision", pod, {"template": json.dumps(template)}).document["kind"], "ProvisionReport")
            finally:
                serve.terminate()


if __name__ == "__main__":
    unittest.main()
