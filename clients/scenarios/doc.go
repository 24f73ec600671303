// Package scenarios runs the cases of clients/examples: ordinary manifests and their expected decisions. The cases of testdata/pending
// have pods that are pending because of common mistakes, many from public threads, and the remedy to suggest first.
//
// A case is a directory with a case.yaml:
//
//	title: the subject of the case, in one line
//	why: the reason of the result, in one line
//	topologyKey: the node label whose values are the domains below
//	steps:
//	- name: the variation of this step
//	  beside: true                      shown beside the previous step
//	  files: [nodes.yaml, web.yaml]     manifests, in this order
//	  profile: {}                       a Profile, in protojson's names
//	  place:                            place the queue; by the name of the workload or pod:
//	    web:
//	      placed: 3                     number of pods with a node
//	      unplaced: 1                   number of pods without
//	      spread: 2/1/0                 pods per domain, in descending order, including empty domains
//	      domains: {z1: 2, z2: 1}       the same by domain, if it is certain
//	      nodes: [a, b]                 the nodes in the order of placement
//	      message: "0/3 nodes ..."      kube-scheduler's event text
//	      explanation: {}               of the first pod without a node, see below
//	      changes: []                   changes that would place it, see below
//	      preemption: {}                kube-scheduler's preemption for it, see below
//	      evicted: 1                    number of pods placed and then evicted, with queue
//	      attempts: 2                   number of attempts of its pods, with queue
//	  queue: true                       with place: as kube-scheduler's queue, with preemption and retries
//	  evictions: ["web evicts low-1, low-2 from a"]
//	                                    with queue, in chronological order; for a group "default/training evicts low-1, low-2"
//	  joint: true                       with place: all pods without a group as a whole; their group is "queue"
//	  groups:                           with place, the results of pod groups, by namespace and name:
//	    default/training:
//	      status: best effort           complete, infeasible, undecided, unattempted
//	      placed: 3
//	      unplaced: 1
//	      domains: [rack=r1]            its domains
//	      first: web                    the workload of the first pod without a node
//	      message: ""
//	      conflict: ["web: anti-affinity by zone"]
//	                                    contradicting rules
//	  filter:                           or filter one pod, with an explanation
//	    pod: web                        required if several are pending
//	    feasible: [a]                   the feasible nodes
//	    refused: {Too many pods: [b]}   the other nodes by reason; a node with several reasons is under each
//	    message: ""
//	    explanation:
//	      counts:                       required counts; others may exist
//	      - rule: hard spread           soft spread, affinity, anti-affinity, existing pods' anti-affinity
//	        topologyKey: zone           by default the case's
//	        domains: {z1: 3, z2: 1}     matching pods in every domain
//	        skews: {z1: 2, z2: 0}
//	        minimum: 1
//	        feasible: [z2]              domains that the rule allows
//	        nodes: {z1: [a], z2: [b]}
//	        uncounted: {missing topology key: [c]}
//	        conflicts: {z1: [web-1]}    conflicting pods; pods of the queue by workload
//	      failing: {Too many pods: [b]} nodes by reason, each check on its own
//	      taints: {"k=v:NoSchedule": [a]}
//	      undeclared: {F: [a]}          nodes that do not declare a required feature
//	    changes:                        changes that would place the pod, in the command line's words
//	    - one more node like a
//	    remedy: one more node like a    the first change
//	    preemption:                     missing lists must be empty, except refused
//	      best: [a, b]                  the nodes to which kube-scheduler may nominate the pod
//	      victims: [low-1]              the victims on the first of these nodes, the most important first
//	      violations: 1                 number of victims that violate a PodDisruptionBudget
//	      refused: {Too many pods: [c]} the other nodes by reason
//	  preempt:                          or select victims for one pod, also beyond kube-scheduler's rules
//	    pod: web
//	    preemption: {}                  kube-scheduler's preemption, as above
//	    safe:                           the best candidate whose victims all have another node
//	      node: a
//	      victims: [low-1]
//	      replacements: {low-1: [b]}    nodes of the victims' replacements
//	      unsafe: {low-2: "0/3 ..."}    reasons of pending replacements of kube-scheduler's victims
//	    acrossNodes:                    the fewest victims on any nodes, proven minimal
//	      node: a
//	      victims: [low-1, low-3]
//	      violations: 0
//	  score:                            or score one pod
//	    pod: web
//	    best: [a]
//	    scores:                         plugins' weighted scores by node
//	      NodeAffinity: {a: 200, b: 0}
//	    skipped: [NodeAffinity]         plugins that gave no scores
//	  scaleDown:                        or scale a workload down
//	    workload: web
//	    replicas: 3                     number of remaining replicas
//	    deleted: [web-4, web-2]         the pods to delete, in order
//	    domains: {z1: 2, z2: 1}         remaining replicas by domain
//	    broken: [TaintToleration]       rules that the first deleted pod breaks on its node
//
// Missing expectations are not checked. A Decider decides each step, and the same expectations must hold for every Decider: the
// engine, a server over gRPC, the command line.
package scenarios
