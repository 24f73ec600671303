// Package rollout tells how the rollout of a Deployment goes: it creates and deletes pods as the Deployment controller and its
// ReplicaSets would (pkg/controller/deployment/rolling.go and recreate.go, v1.37), and places them in a simulated cluster.
//
// A pod that is placed is ready before the controller goes on, and a pod that is deleted is gone. minReadySeconds and
// progressDeadlineSeconds do not count. Whether the controller lets old pods leave before or after kube-scheduler has placed the
// pods that it created at the same time depends on their speed; here they are placed first.
package rollout
