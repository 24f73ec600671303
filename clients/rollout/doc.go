// Package rollout tells how the rollout of a Deployment, StatefulSet or DaemonSet goes: it creates and deletes pods as their
// controllers would (pkg/controller/deployment/rolling.go and recreate.go, pkg/controller/statefulset/stateful_set_control.go and
// pkg/controller/daemon/update.go, v1.37), and places them in a simulated cluster.
//
// A pod that is placed is ready before the controller goes on, and a pod that is deleted is gone. minReadySeconds and
// progressDeadlineSeconds do not count. Whether a controller deletes old pods before or after kube-scheduler has placed the
// pods that it created at the same time depends on their speed; here they are placed first.
package rollout
