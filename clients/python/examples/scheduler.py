"""A batch scheduler: binds the pending pods of a scheduler name where kube-scheduler would place them, all of them by one decision. It preempts
nothing, and binds no pods with claims of volumes or devices, as a scheduler has to bind the claims first.

python3 -m examples.scheduler KUBERNETES-URL STOWAGE-SERVE-URL NAME, where KUBERNETES-URL may be kubectl proxy's."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.error
import urllib.request
from typing import Any

from stowage.objects import Objects

KINDS = {
    "/api/v1": "Node Pod Namespace Service ReplicationController PersistentVolume PersistentVolumeClaim",
    "/apis/apps/v1": "ReplicaSet StatefulSet",
    "/apis/scheduling.k8s.io/v1": "PriorityClass",
    "/apis/storage.k8s.io/v1": "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment",
    "/apis/resource.k8s.io/v1": "ResourceClaim ResourceClaimTemplate DeviceClass ResourceSlice",
}
CLAIMS = re.compile('"(persistentVolumeClaim|ephemeral|resourceClaims)":')


def listed(kubernetes: str, group: str, kind: str) -> list[dict[str, Any]]:
    """Lists objects as kubectl prints them: items of a list have no kind of their own."""
    plural = (kind.lower() + ("es" if kind.endswith("s") else "s")).replace("ys", "ies")
    try:
        with urllib.request.urlopen(f"{kubernetes}{group}/{plural}") as response:
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
    objects = [o for group, kinds in KINDS.items() for kind in kinds.split() for o in listed(kubernetes, group, kind)]
    left = {(o["metadata"]["namespace"], o["metadata"]["name"]) for o in objects if o["kind"] == "Pod" and CLAIMS.search(json.dumps(o["spec"]))}
    # Without a queue: there, pods that preempt have the nodes that they get once their victims have left.
    answer = stowage.ask("place", objects, scheduler_name=name, queue="in-order")
    if answer.exit_status == 3:  # kube-scheduler might decide otherwise
        print(*answer.document.get("notes", []), sep="\n")
        return {}
    bound = {}
    for pod in answer.document["pods"]:
        if "node" not in pod:
            print(f"{pod['namespace']}/{pod['name']}: {pod.get('reason')}")
        elif (pod["namespace"], pod["name"]) not in left and bind(kubernetes, pod["namespace"], pod["name"], pod["node"]):
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
