// A batch scheduler: binds the pending pods of a scheduler name where kube-scheduler would place them, all of them by one decision. It preempts
// nothing, and binds no pods with claims of volumes or devices, as a scheduler has to bind the claims first.
// node dist/examples/scheduler.js KUBERNETES-URL STOWAGE-SERVE-URL NAME, where KUBERNETES-URL may be kubectl proxy's.
import { pathToFileURL } from "node:url";
import { Objects } from "../src/index.js";

interface KubeObject { apiVersion?: string; kind?: string; metadata: { name: string; namespace?: string }; spec?: { resourceClaims?: object[]; volumes?: object[] } }

/** Lists objects as kubectl prints them: items of a list have no kind of their own. */
async function list(kubernetes: string, path: string, kind: string): Promise<KubeObject[]> {
  const response = await fetch(`${kubernetes}${path}`);
  if (response.status === 404) return []; // an API that the cluster does not have
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  const { apiVersion, items } = (await response.json()) as { apiVersion: string; items: KubeObject[] };
  return items.map((o) => ({ apiVersion, kind, ...o }));
}

const kinds: [path: string, kind: string][] = [
  ["/api/v1/nodes", "Node"], ["/api/v1/pods", "Pod"], ["/api/v1/namespaces", "Namespace"], ["/api/v1/services", "Service"],
  ["/api/v1/replicationcontrollers", "ReplicationController"], ["/apis/apps/v1/replicasets", "ReplicaSet"],
  ["/apis/apps/v1/statefulsets", "StatefulSet"], ["/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"],
  ["/api/v1/persistentvolumes", "PersistentVolume"], ["/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"],
  ["/apis/storage.k8s.io/v1/storageclasses", "StorageClass"], ["/apis/storage.k8s.io/v1/csinodes", "CSINode"],
  ["/apis/storage.k8s.io/v1/csidrivers", "CSIDriver"], ["/apis/storage.k8s.io/v1/csistoragecapacities", "CSIStorageCapacity"],
  ["/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment"], ["/apis/resource.k8s.io/v1/resourceclaims", "ResourceClaim"],
  ["/apis/resource.k8s.io/v1/resourceclaimtemplates", "ResourceClaimTemplate"], ["/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass"],
  ["/apis/resource.k8s.io/v1/resourceslices", "ResourceSlice"],
];

async function bind(kubernetes: string, namespace: string, name: string, node: string): Promise<boolean> {
  const binding = { apiVersion: "v1", kind: "Binding", metadata: { name, namespace }, target: { apiVersion: "v1", kind: "Node", name: node } };
  const response = await fetch(`${kubernetes}/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(binding),
  });
  return response.ok; // the next round decides about a pod that was not bound
}

/** Whether a pod has claims. */
const claims = ({ spec }: KubeObject) => spec?.resourceClaims?.length || spec?.volumes?.some((v) => "persistentVolumeClaim" in v || "ephemeral" in v);

/** Reads the cluster, decides about all pending pods, and binds them. Returns the nodes of the pods that were bound. */
export async function round(kubernetes: string, stowage: Objects, schedulerName: string): Promise<Map<string, string>> {
  const objects = (await Promise.all(kinds.map(([path, kind]) => list(kubernetes, path, kind)))).flat();
  const left = new Set(objects.filter((o) => o.kind === "Pod" && claims(o)).map((o) => `${o.metadata.namespace}/${o.metadata.name}`));
  const bound = new Map<string, string>();
  // Without a queue: there, pods that preempt have the nodes that they get once their victims have left.
  const { document, exitStatus } = await stowage.ask("place", objects, { "scheduler-name": schedulerName, queue: "in-order" });
  if (exitStatus === 3) { // kube-scheduler might decide otherwise
    console.log(document.notes?.join("\n"));
    return bound;
  }
  for (const pod of document.pods) {
    const name = `${pod.namespace}/${pod.name}`;
    if (!pod.node) console.log(`${name}: ${pod.reason}`);
    else if (!left.has(name) && (await bind(kubernetes, pod.namespace, pod.name, pod.node))) bound.set(name, pod.node);
  }
  return bound;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [kubernetes = "http://127.0.0.1:8001", url = "http://127.0.0.1:8080", name = "stowage"] = process.argv.slice(2);
  const stowage = new Objects({ url });
  for (;;) {
    await round(kubernetes, stowage, name).catch((e: unknown) => console.error(e));
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
