// The parts of the command's JSON documents that the page reads. clients/answer/schema has their schemas.

export interface Problem { object?: string; field?: string; detail: string }

export interface NodeList { indexes: number[]; names: string[] }

export type Amounts = Record<string, string>;

export interface ClusterNode {
  name: string;
  domain?: string;
  allocatable: Amounts;
  requested: Amounts;
  requestedAfter?: Amounts;
  feasible?: boolean;
  state?: string;
  drained?: boolean;
  reasons?: string[];
}

export interface Finding { severity: string; rule: string; at?: string; field?: string; message: string }

export interface Header {
  kind: string;
  verdict: string;
  findings?: Finding[];
  notes?: string[];
  topologyKey?: string;
}

export interface PlacedPod {
  namespace: string; name: string; kind: string; replica: number; from?: string; node?: string; reason?: string;
}

export interface PodReference { namespace: string; name: string; nodeIndex: number; count: number }

export interface Rollout {
  kind: string; namespace: string; name: string; replicas: number; placed: number; old: number; complete: boolean;
  steps: { placed: string[]; left: { name: string; node: string }[] }[];
  stuck?: { message: string };
}

export interface ConflictRule { plugin: string; rule: string; topologyKey: string; resource: string }

export interface Place extends Header {
  pods: PlacedPod[];
  rollouts?: Rollout[];
  leavers?: { namespace: string; name: string; node: string }[]; // as their workloads are to have fewer replicas
  nodes: ClusterNode[];
  workloads: { namespace: string; name: string; kind: string; pods: number; placed: number; unplaced: { pods: number; reason: string; preemption?: string }[] }[];
  evictions: { nodeName: string; victims: PodReference[] }[];
  podGroups: { name: string; message: string; unplacedCount: number; conflict?: ConflictRule[] }[];
}

export interface DomainCount { value: string; matchingPods: string; skew: string; feasible: boolean; nodes: NodeList }

export interface TopologyCounts {
  rule: string; index: number; topologyKey: string; selector: string; domains: DomainCount[];
  minimum: string; maxSkew: number; minDomains: number;
}

export interface Rejection { plugin: string; code: string; reasons: { message: string }[]; nodes: NodeList }

export interface FilterAnswer {
  feasibleNodes?: NodeList;
  rejections?: Rejection[];
  message?: string;
  explanation?: { failingChecks: Rejection[]; topologyCounts: TopologyCounts[] };
}

export interface Explain extends Header, FilterAnswer {
  pod: { namespace: string; name: string; kind: string };
  why?: string;
  preemptionText?: string;
  remedies: string[];
  edits: Change[];
  nodes: ClusterNode[];
  targets?: { target: string; pod: string; node?: string; feasible: boolean; answer: FilterAnswer }[];
}

export interface Score extends Header {
  nodes?: NodeList;
  pluginScores: { plugin: string; weight: number; weightedScores: string[] }[];
  totalScores: string[];
}

export interface Fail extends Header {
  nodes: ClusterNode[];
  failures: {
    name: string;
    nodes: string[];
    pods: { namespace: string; name: string; from?: string; node?: string; reason?: string }[];
    workloads: { kind: string; namespace: string; name: string; replicas: number; lost: number; missing: number; reasons: string[] }[];
  }[];
}

export interface Drain extends Header {
  nodes: ClusterNode[];
  moves: { namespace: string; name: string; from: string; pods: number; to: { name: string; pods: number }[] }[];
  drains: { unplaced: { pods: PodReference[]; message?: string }[] }[];
}

// Rule names a required rule of a pod, as PodRule of the contract.
export interface Rule { rule: string; index: number; topologyKey: string }

// Change is a change of the contract: one of its fields is set.
export interface Change {
  addedNode?: { likeNodeIndex: number; newDomainKeys: string[] };
  victims?: { pods: PodReference[] };
  raisedMaxSkew?: { index: number; to: number };
  loweredMinDomains?: { index: number; to: number };
  honoredPolicy?: { index: number; policy: string };
  preferredRule?: Rule;
  renamedTopologyKey?: { rule: Rule; to: string };
  addedMatchLabelKey?: { rule: Rule; key: string };
  addedTolerations?: { tolerations: { key: string; operator: string; value: string; effect: string }[] };
  uncordonedNode?: { nodeIndex: number };
  clearedTaints?: { nodeIndex: number; taints: { key: string; effect: string }[] };
  labelledNode?: { nodeIndex: number; key: string; value: string };
  removedSchedulingGates?: { gates: string[] };
  combined?: { changes: Change[] };
}
