package oracle

import (
	"errors"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// refusalOf returns what a plugin's own status says.
func refusalOf(plugin string, status *fwk.Status) (*Refusal, error) {
	if !status.IsRejected() && status.Code() != fwk.Error {
		return nil, fmt.Errorf("plugin %s fails: %w", plugin, status.AsError())
	}
	return &Refusal{Plugin: plugin, Code: status.Code(), Reasons: status.Reasons()}, nil
}

// failed returns what a plugin's status said that the framework wrapped into an error of its own (framework.go
// RunPreFilterPlugins, RunPreScorePlugins, RunScorePlugins, v1.37).
func failed(plugin string, status *fwk.Status) (*Refusal, error) {
	err := errors.Unwrap(status.AsError())
	if err == nil {
		return nil, fmt.Errorf("plugin %s fails: %w", plugin, status.AsError())
	}
	return &Refusal{Plugin: plugin, Code: fwk.Error, Reasons: []string{err.Error()}}, nil
}
