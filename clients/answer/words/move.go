package words

import (
	"fmt"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// MoveRows are the pods that drains move, with their nodes, their new nodes, and the round. Pods of one controller that move alike are one row.
func (x *Explanation) MoveRows(drains []*stowagev1.NodeDrain) [][]string {
	var moves []Together
	for _, d := range drains {
		for _, m := range d.GetMoves() {
			cells := []string{x.Node(m.GetPod().GetNodeIndex()), NodeCounts(m.GetNodes()), fmt.Sprint(m.GetRound())}
			moves = append(moves, One(m.GetPod(), strings.Join(cells, "\t")))
		}
	}
	var out [][]string
	for _, t := range x.Gather(moves) {
		out = append(out, append([]string{t.Who(x)}, strings.Split(t.Text, "\t")...))
	}
	return out
}
