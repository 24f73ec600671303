// Package e2e tests Stowage where it is used: a real control plane, in which pods are created through the API server and
// end up bound where Stowage decided, with plain kube-scheduler beside it for comparison.
//
// `make e2e` builds what it needs and runs it. E2E_BIN is the directory with the control plane's commands, without which
// every test is skipped; E2E_COMMANDS is the one with this project's.
package e2e
