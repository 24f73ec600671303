package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type fitCommand struct {
	question
	ties
	Mix      []string `placeholder:"NAME[=COUNT]" help:"Pending pod or workload to count, and how many of its pods make one unit. Repeat it for a mix. Default: the only one."`
	By       string   `placeholder:"LABEL" help:"Also count by the values of this node label, and what would fit in each alone."`
	MaxUnits uint32   `placeholder:"NUMBER" help:"Stop counting at this number."`
	Changes  bool     `help:"List changes with which more pods fit."`
}

// Run is called by kong.
func (c *fitCommand) Run(s *session, code *answered) error {
	return c.ask(s, func(a *asked) error {
		mix, err := c.mix(a.snapshot)
		if err != nil {
			return err
		}
		var pods []kube.Stated
		for _, m := range mix {
			if m.Stated != nil {
				pods = append(pods, *m.Stated)
			}
		}
		return c.review(a, pods, c.tellsFindings())
	}, func(a *asked) (proto.Message, error) {
		snapshot := a.snapshot
		mix, err := c.mix(snapshot)
		if err != nil {
			return nil, err
		}
		request := snapshot.FitRequest(mix)
		request.Context.Profile, request.TopologyKey = a.scheduler.Profile, c.By
		request.IncludeChanges, request.TieBreak, request.TieBreakSeed = c.Changes, c.tieBreak(), c.Seed
		if c.MaxUnits > 0 {
			request.MaxUnits = &c.MaxUnits
		}
		r := text.Fit{Cluster: snapshot.Cluster, TopologyKey: c.By, Changes: c.Changes, Width: s.width}
		var response *stowagev1.FitResponse
		for i, m := range mix {
			r.Names, r.Counts = append(r.Names, m.Name), append(r.Counts, m.Pods.GetCount())
			if response == nil && m.Message != "" { // kube-scheduler does not queue it
				response = notQueued(mix, i)
			}
		}
		if response == nil {
			if response, err = a.Fit(s.ctx, request); err != nil {
				return request, err
			}
		}
		for _, d := range response.GetDoubts() {
			c.doubt(snapshot, mix[d.GetPod().GetQueueIndex()].Name, d)
		}
		*code = c.verdict(s, snapshot, response.GetUnits() > 0)
		of := result.AnswerOf{
			Kind: "FitReport", Title: "How many more fit", Good: response.GetUnits() > 0, Value: response, Findings: c.findings,
			Cluster: snapshot.Cluster, TopologyKey: c.By, Effect: func(e *answer.Effect) { counts(e, mix, response) },
		}
		for _, p := range response.GetPods() {
			of.Names = append(of.Names, nodeNames(p.GetNodes().GetNames())...)
		}
		of.Names = slices.Compact(of.Names)
		return request, c.printAnswer(s, of, func(w io.Writer, width int) {
			r.Width = width
			r.Write(w, response)
		})
	})
}

// counts places the pods that fit.
func counts(e *answer.Effect, mix []*kube.Counted, response *stowagev1.FitResponse) {
	for i, p := range response.GetPods() {
		_, name, _ := strings.Cut(mix[i].Name, "/")
		for j, node := range p.GetNodes().GetIndexes() {
			e.Add(node, mix[i].Pods.GetPod(), name, int(p.GetCounts()[j]))
		}
	}
}

// notQueued returns the answer for a mix with an entry that kube-scheduler does not queue.
func notQueued(mix []*kube.Counted, entry int) *stowagev1.FitResponse {
	out := &stowagev1.FitResponse{BindingMixIndex: new(uint32(entry)), Message: mix[entry].Message}
	for i, m := range mix {
		out.Pods = append(out.Pods, &stowagev1.FitPods{Nodes: &stowagev1.NodeList{}})
		out.Doubts = append(out.Doubts, kube.UnreadDoubts(m.Pods.GetPod().GetUnread(), uint32(i))...)
	}
	return out
}

// mix returns what to count.
func (c *fitCommand) mix(snapshot *kube.Snapshot) ([]*kube.Counted, error) {
	wanted := c.Mix
	if len(wanted) == 0 {
		wanted = []string{""}
	}
	var out []*kube.Counted
	for _, text := range wanted {
		name, number, given := strings.Cut(text, "=")
		count := uint64(1)
		if given {
			var err error
			if count, err = strconv.ParseUint(number, 10, 32); err != nil || count == 0 {
				return nil, fmt.Errorf("--mix=%s: the count is not a number of at least 1", text)
			}
		}
		m, err := snapshot.Counted(name, uint32(count))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// fitFlag returns the flag that sets a field of a request to count.
func fitFlag(request proto.Message, path string) (string, bool) {
	flag, ok := map[string]string{"topology_key": "--by", "max_units": "--max-units", "mix": "--mix"}[path]
	_, counts := request.(*stowagev1.FitRequest)
	return flag, ok && counts
}
