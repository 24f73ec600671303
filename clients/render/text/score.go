package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// scores writes each node's weighted scores by plugin, the best nodes first; "*" marks the nodes that kube-scheduler would
// choose from.
func scores(w io.Writer, a *stowagev1.ScoreResponse, width int) {
	if a.GetMessage() != "" {
		WriteWrapped(w, "", a.GetMessage(), width)
		return
	}
	best := map[uint32]bool{}
	for _, i := range a.GetBestNodes().GetIndexes() {
		best[i] = true
	}
	headings := [][]string{nil, {"NODE"}, {"TOTAL"}}
	for _, p := range a.GetPluginScores() {
		headings = append(headings, append(split(words.Plugin(p.GetPlugin())), fmt.Sprintf("×%d", p.GetWeight())))
	}
	rows := stack(headings)
	order := make([]int, len(a.GetTotalScores()))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.TotalScores[j], a.TotalScores[i]) })
	for _, i := range order {
		mark := ""
		if best[a.GetNodes().GetIndexes()[i]] {
			mark = "*"
		}
		row := []string{mark, a.GetNodes().GetNames()[i], fmt.Sprint(a.GetTotalScores()[i])}
		for _, p := range a.GetPluginScores() {
			row = append(row, fmt.Sprint(p.GetWeightedScores()[i]))
		}
		rows = append(rows, row)
	}
	table(w, rows...)
}

// words splits a name like ImageLocality, for a narrow heading.
func split(name string) []string {
	var out []string
	for _, r := range name {
		if unicode.IsUpper(r) || len(out) == 0 {
			out = append(out, "")
		}
		out[len(out)-1] += string(r)
	}
	return out
}

// stack arranges headings of several words in rows, with all last words in the last.
func stack(headings [][]string) [][]string {
	height := 0
	for _, h := range headings {
		height = max(height, len(h))
	}
	rows := make([][]string, height)
	for _, h := range headings {
		h = append(slices.Repeat([]string{""}, height-len(h)), h...)
		for i, word := range h {
			rows[i] = append(rows[i], strings.TrimSpace(word))
		}
	}
	return rows
}
