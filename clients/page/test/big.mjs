// A cluster as kubectl get nodes,pods -A -o json prints it, without fields that scheduling does not read.

export function bigCluster(nodes, pods) {
  const items = [];
  const zones = 8;
  for (let i = 0; i < nodes; i++) {
    const gpus = i % 10 === 0 ? { 'nvidia.com/gpu': '8' } : {};
    items.push({
      apiVersion: 'v1', kind: 'Node',
      metadata: { name: nodeName(i), labels: { 'topology.kubernetes.io/zone': 'zone-' + (i % zones), 'kubernetes.io/hostname': nodeName(i) } },
      status: { allocatable: { cpu: '32', memory: '128Gi', pods: '110', ...gpus } },
    });
  }
  for (let i = 0; i < pods; i++) {
    const app = 'app-' + Math.floor(i / 100);
    const cpu = 200 + ((i * 7919) % 9) * 150;
    items.push(pod(app + '-' + (i % 100), app, nodeName((i * 31) % nodes), cpu));
  }
  for (let i = 0; i < 200; i++) items.push(pod('new-' + i, 'new', undefined, 4000));
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

function nodeName(i) { return 'node-' + String(i).padStart(4, '0'); }

function pod(name, app, node, cpu) {
  return {
    apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop', labels: { app } },
    spec: {
      ...(node ? { nodeName: node } : {}),
      containers: [{ name: 'main', image: 'registry.example/app:1', resources: { requests: { cpu: cpu + 'm', memory: '1Gi' } } }],
      ...(node ? {} : { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app } } }] }),
    },
  };
}
