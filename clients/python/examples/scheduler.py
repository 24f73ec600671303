"""A batch scheduler: binds the pending pods of a scheduler name where kube-scheduler would place them, all of them by one decision.

python3 -m examples.scheduler KUBERNETES-URL STOWAGE-SERVE-URL NAME, where KUBERNETES-URL may be kubectl proxy's."""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from stowage.objects import Objects

KINDS = {
    "/api/v1/nodes": "Node", "/api/v1/pods": "Pod", "/api/v1/namespaces": "Namespace", "/api/v1/services": "Service",
    "/api/v1/replicationcontrollers": "ReplicationController", "/apis/apps/v1/replicasets": "ReplicaSet",
    "/apis/apps/v1/statefulsets": "StatefulSet", "/apis/policy/v1/poddisruptionbudgets": "PodDisruptionBudget",
    "/api/v1/persistentvolumes": "PersistentVolume", "/api/v1/persistentvolumeclaims": "PersistentVolumeClaim",
    "/apis/storage.k8s.io/v1/storageclasses": "StorageClass", "/apis/storage.k8s.io/v1/csinodes": "CSINode",
}


def listed(kubernetes: str, path: str, kind: str) -> list[dict[str, Any]]:
    """Lists objects as kubectl prints them: items of a list have no kind of their own."""
    try:
        with urllib.request.urlopen(kubernetes + path) as response:
            found = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return []  # an API that the cluster does not have
        raise
    return [{"apiVersion": found["apiVersion"], "kind": kind, **item} for item in found["items"]]


def bind(kubernetes: str, namespace: str, name: str, node: str) -> bool:
    """Binds a pod. The next round decides about a pod that was not bound."""
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    path = f"{kubernetes}/api/v1/namespaces/{namespace}/pods/{name}/binding"
    try:
        with urllib.request.urlopen(urllib.request.Request(path, json.dumps(binding).encode(), {"Content-Type": "application/json"})):
            return True
    except urllib.error.HTTPError:
        return False


def decide(kubernetes: str, stowage: Objects, name: str) -> dict[str, str]:
    """Reads the cluster, decides about all pending pods, and binds them. Returns the nodes of the pods that were bound."""
    objects = [o for path, kind in KINDS.items() for o in listed(kubernetes, path, kind)]
    bound = {}
    for pod in stowage.ask("place", objects, scheduler_name=name).document["pods"]:
        if "node" not in pod:
            print(f"{pod['namespace']}/{pod['name']}: {pod.get('reason')}")
        elif bind(kubernetes, pod["namespace"], pod["name"], pod["node"]):
            bound[f"{pod['namespace']}/{pod['name']}"] = pod["node"]
    return bound


if __name__ == "__main__":
    defaults = ["http://127.0.0.1:8001", "http://127.0.0.1:8080", "stowage"]
    kubernetes_url, stowage_url, scheduler = sys.argv[1:] + defaults[len(sys.argv) - 1 :]
    client = Objects(stowage_url)
    while True:
        try:
            decide(kubernetes_url, client, scheduler)
        except Exception as problem:  # pylint: disable=broad-except
            print(problem, file=sys.stderr)
        time.sleep(2)
