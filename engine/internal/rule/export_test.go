package rule

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// RejectDivided returns the rejections of nodes by sets; nil if there are too many parts.
func (f *Fit) RejectDivided(full nodeset.Set) []verdict.Rejection {
	if parts, _ := f.parts(full); parts == nil {
		return nil
	}
	return f.reject(verdict.NodeResourcesFit, full)
}

// RejectEach returns them one node after the other.
func (f *Fit) RejectEach(full nodeset.Set) []verdict.Rejection {
	return f.rejectEach(verdict.NodeResourcesFit, full)
}
