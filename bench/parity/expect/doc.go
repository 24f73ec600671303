// Package expect converts kube-scheduler's decisions to the answers that Stowage must give, field by field.
//
// Only what the contract promises is added to what kube-scheduler says: the grouping of nodes by refusal, the reasons'
// types beside their texts, and which of the best nodes Place takes. Explanations hold the failing checks alone.
package expect
