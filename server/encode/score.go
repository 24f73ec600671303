package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Score encodes the response to a ScoreRequest. address is the content address of the cluster.
func Score(_ *stowagev1.ScoreRequest, s *verdict.Score, names Names, address string) ([]byte, error) {
	// A score takes one byte, most totals take two.
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+listBytes(s.Nodes)+2*len(s.Nodes)+len(s.Plugins)*len(s.Nodes)+
		listBytes(s.Best)+rejectionsBytes(s.Rejections))}
	e.nodes(1, s.Nodes)
	for _, p := range s.Plugins {
		e.lengthDelimited(2, func() {
			e.message(&stowagev1.PluginScores{Plugin: Plugin(p.Plugin), Weight: int32(p.Weight)}) // at most 1,000,000
			packed(&e, 3, p.Scores)
		})
	}
	packed(&e, 3, s.Totals)
	e.nodes(4, s.Best)
	e.rejections(7, s.Rejections)
	e.message(&stowagev1.ScoreResponse{
		Message: s.Message, InternalError: s.Failed, SnapshotAddress: address, Doubts: doubts(s.Doubts),
	})
	return e.b, e.err
}
