// Package scenarios runs the cases of clients/examples: ordinary manifests and their expected decisions. Those of testdata/pending
// are pods that public threads or common mistakes left pending, with the remedy that is to be offered first.
//
// A case is a directory with a case.yaml:
//
//	title: one line that says what the case shows
//	why: one line that says why it comes out so
//	topologyKey: the node label that domains below are values of
//	steps:
//	- name: what this step varies
//	  beside: true                      best shown beside the step before
//	  files: [nodes.yaml, web.yaml]     manifests, in this order
//	  profile: {}                       a Profile, in protojson's names
//	  place:                            place the queue; by the name of the workload or pod:
//	    web:
//	      placed: 3                     how many got a node
//	      unplaced: 1                   how many did not
//	      spread: 2/1/0                 pods per domain, most first, empty domains too
//	      domains: {z1: 2, z2: 1}       the same where it is certain which is which
//	      nodes: [a, b]                 the nodes in the order of placement
//	      message: "0/3 nodes ..."      kube-scheduler's event text
//	      explanation: {}               of the first pod without a node, see below
//	      changes: []                   what would place it, see below
//	      preemption: {}                what kube-scheduler would do for it, see below
//	      evicted: 1                    how many were placed and then evicted
//	      attempts: 2                   how often its pods were attempted, both with queue
//	  queue: true                       with place: as kube-scheduler's queue, which preempts and tries pods again
//	  evictions: ["web evicts low-1, low-2 from a"]
//	                                    with queue, in the order of time; of a group "default/training evicts low-1, low-2"
//	  joint: true                       with place: all pods without a group as a whole; their group is "queue"
//	  groups:                           with place, what became of pod groups, by namespace and name:
//	    default/training:
//	      status: best effort           complete, infeasible, undecided, unattempted
//	      placed: 3
//	      unplaced: 1
//	      domains: [rack=r1]            where it went
//	      first: web                    the workload of the first pod that found no node
//	      message: ""
//	      conflict: ["web: anti-affinity by zone"]
//	                                    rules that cannot hold together
//	  filter:                           or filter one pod, with an explanation
//	    pod: web                        needed if several are pending
//	    feasible: [a]                   the nodes that can take it
//	    refused: {Too many pods: [b]}   the others by reason; a node of several reasons stands under each
//	    message: ""
//	    explanation:
//	      counts:                       must be there, and others may be
//	      - rule: hard spread           soft spread, affinity, anti-affinity, existing pods' anti-affinity
//	        topologyKey: zone           the case's if absent
//	        domains: {z1: 3, z2: 1}     matching pods of every domain
//	        skews: {z1: 2, z2: 0}
//	        minimum: 1
//	        feasible: [z2]              domains that the rule lets the pod go to
//	        nodes: {z1: [a], z2: [b]}
//	        uncounted: {missing topology key: [c]}
//	        conflicts: {z1: [web-1]}    pods in the way; those of the queue by workload
//	      failing: {Too many pods: [b]} nodes by reason, as if each check were asked alone
//	      taints: {"k=v:NoSchedule": [a]}
//	    changes:                        what would place the pod, as the command line words it
//	    - one more node like a
//	    remedy: one more node like a    the first of them
//	    preemption:                     absent lists are expected to be empty, but for refused
//	      best: [a, b]                  the nodes that kube-scheduler may nominate the pod to
//	      victims: [low-1]              the pods that it would evict from the first of them, the most important first
//	      violations: 1                 how many of them violate a PodDisruptionBudget
//	      refused: {Too many pods: [c]} the other nodes by reason
//	  preempt:                          or ask whom to evict for one pod, with what goes beyond kube-scheduler
//	    pod: web
//	    preemption: {}                  what kube-scheduler would do, as above
//	    safe:                           the best candidate whose victims all have another node
//	      node: a
//	      victims: [low-1]
//	      replacements: {low-1: [b]}    where those go that come back
//	      unsafe: {low-2: "0/3 ..."}    why those of kube-scheduler's victims that come back go nowhere
//	    acrossNodes:                    the fewest victims on any nodes, which must be proven
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
//	    replicas: 3                     how many remain
//	    deleted: [web-4, web-2]         the pods to delete, in order
//	    domains: {z1: 2, z2: 1}         what remains, by domain
//	    broken: [TaintToleration]       the rules that the first one to delete breaks where it is
//
// What a step leaves out is not checked. Each step is decided by a Decider, and the same expectations must hold
// whichever it is: the engine itself, a server over gRPC, the command line.
package scenarios
