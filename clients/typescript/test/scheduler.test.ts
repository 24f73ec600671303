import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { round } from "../examples/scheduler.js";
import { Objects, ObjectsError } from "../src/index.js";

const meta = (name: string, more = {}) => ({ metadata: { name, namespace: "default", uid: name, ...more } });
const spec = (schedulerName: string) => ({
  schedulerName, containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }],
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { app: "web" } }, topologyKey: "kubernetes.io/hostname" }] } },
});

test("the scheduler binds the pods of its name, each on a node of its own, but neither a pod that preempts nor a pod with a claim", async () => {
  const node = (name: string) => ({ metadata: { name, uid: name, labels: { "kubernetes.io/hostname": name } }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "10" }, conditions: [{ type: "Ready", status: "True" }] } });
  const pod = (name: string, schedulerName: string) => ({ ...meta(name, { labels: { app: "web" } }), spec: spec(schedulerName) as Record<string, unknown>, status: { phase: "Pending" } });
  const pods = [pod("a", "stowage"), pod("b", "stowage"), pod("c", "stowage"), pod("other", "default-scheduler")];
  const alone = (name: string, cpu: string, spec: object, phase = "Pending") => ({ ...meta(name), status: { phase }, spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }], ...spec } as Record<string, unknown> });
  const more = [
    alone("cheap", "4", { nodeName: "full", priority: 0 }, "Running"),
    alone("urgent", "4", { schedulerName: "stowage", priority: 1000, nodeSelector: { "kubernetes.io/hostname": "full" } }),
    alone("claiming", "0", { schedulerName: "stowage", volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] }),
  ];
  const claim = { ...meta("data"), status: { phase: "Pending" }, spec: { storageClassName: "late", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
  const late = { metadata: { name: "late", uid: "late" }, provisioner: "csi.example.com", volumeBindingMode: "WaitForFirstConsumer" };
  const kubernetes = createServer(async (r, w) => {
    const bound = /pods\/(.*)\/binding$/.exec(r.url!)?.[1];
    if (bound) {
      let text = "";
      for await (const part of r) text += part;
      [...pods, ...more].find((p) => p.metadata.name === bound)!.spec["nodeName"] = JSON.parse(text).target.name;
      return w.writeHead(201).end("{}");
    }
    const items = { "/api/v1/nodes": [node("n1"), node("n2"), node("full")], "/api/v1/pods": [...pods, ...more], "/api/v1/persistentvolumeclaims": [claim], "/apis/storage.k8s.io/v1/storageclasses": [late], "/api/v1/namespaces": [{ metadata: { name: "default", uid: "ns" } }] }[r.url!];
    return items ? w.end(JSON.stringify({ apiVersion: r.url!.replace(/^\/apis?\//, "").replace(/\/[^/]*$/, ""), kind: "List", items })) : w.writeHead(404).end("{}");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => kubernetes.once("listening", resolve));
  const serve = spawn(process.env["STOWAGE"] ?? "../../bin/stowage", ["serve", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "inherit", "pipe"] });
  try {
    const [line] = await once(createInterface(serve.stderr), "line") as [string];
    const stowage = new Objects({ url: /http:\/\/[^/ ]+/.exec(line)![0] });
    const bound = await round(`http://127.0.0.1:${(kubernetes.address() as AddressInfo).port}`, stowage, "stowage");
    assert.deepEqual([...bound.values()].sort(), ["n1", "n2"]);
    assert.deepEqual([...bound.keys()].sort(), ["default/a", "default/b"]);
    await assert.rejects(stowage.ask("place", "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i, resources: {requests: {cpu: x}}}]}"), (e: ObjectsError) => {
      assert.equal(e.status, 400);
      assert.equal(e.problems[0]!.object, "body: document 1: Pod x");
      assert.match(e.problems[0]!.field!, /^spec.containers\[0\].resources.requests/);
      return true;
    });
    const queue = [{ apiVersion: "v1", kind: "Pod", ...pod("d", "stowage"), spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] } }];
    const template = JSON.stringify({ apiVersion: "v1", kind: "Node", ...node("new"), metadata: { name: "new", annotations: { "stowage.scheduling/price": "1" } } });
    const { document } = await stowage.ask("provision", queue, {}, { files: { template } });
    assert.equal(document.kind, "ProvisionReport");
  } finally {
    serve.kill();
    kubernetes.closeAllConnections();
    kubernetes.close();
  }
});
