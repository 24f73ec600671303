// Package board finds the best node for one pod after the other, where each placed pod counts for the next, without
// asking about every node each time. It finds what filtering and scoring all nodes anew would.
//
// Pods that nothing tells apart are one Template. Of a template, the nodes are divided into groups, so that within a
// group all nodes have the same scores but for what their own resources make of it, and either all are feasible or none:
//
//   - What never changes (taints, node affinity, images, which nodes count) divides nodes into cells.
//   - A topology key with few domains divides cells further; how many pods its domains have is looked up for each group
//     when the template is asked for its best node, so that a pod that counts for a third of all nodes moves none of them.
//   - A key with many domains, as hostnames are, or racks, divides by what its domains count: nodes move to another group
//     when their domain's count changes, and only the groups that occur cost anything.
//
// Scores are normalized over the feasible nodes, which comes down to the feasible groups. Within a group the best node is
// on top of a heap by resource score and tie-break, whose entries are upper bounds: a node whose score fell is found out
// when it comes to the top, one whose score rose is entered again. Resource scores are kept by what pods ask for, and
// follow only the nodes that pods were placed on.
//
// What of this several templates have in common they share. Nothing is worked out before it is asked for.
package board
