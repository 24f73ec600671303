//go:build !js

package cli

import (
	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// selectors returns the evaluator of a command's expressions, which keeps what it compiled.
func (*session) selectors() convert.Selectors { return cel.New() }
