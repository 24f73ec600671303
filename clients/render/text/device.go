package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// devices writes how many devices requests could have by node, and the claims that have the others.
func (x *Explanation) devices(w io.Writer, e *stowagev1.Explanation) {
	if all := e.GetDeviceShortages(); len(all) > 0 {
		fmt.Fprintln(w, "\nDevices for each request of its claims, on each node:")
		rows := [][]string{{"CLAIM", "REQUEST", "CLASS", "WANTED", "FREE", "EXCLUDED", "NODES", "WHICH"}}
		for _, s := range all {
			for _, r := range s.GetRequests() {
				rows = append(rows, x.deviceRow(r, s.GetNodes().GetNames()))
			}
		}
		tableWithin(w, x.Width, rows...)
	}
	if all := e.GetTakenDevices(); len(all) > 0 {
		fmt.Fprintln(w, "\nDevices that claims have:")
		rows := [][]string{{"DEVICE", "CLAIM", "PODS"}}
		for _, t := range all {
			var pods []string
			for _, p := range t.GetPods() {
				pods = append(pods, x.Pod(p))
			}
			claim := ""
			if t.GetClaimName() != "" {
				claim = t.GetClaimNamespace() + "/" + t.GetClaimName()
			}
			rows = append(rows, []string{words.Device(t.GetDriver(), t.GetPool(), t.GetDevice()), claim, words.Names(pods)})
		}
		tableWithin(w, x.Width, rows...)
	}
}

func (x *Explanation) deviceRow(r *stowagev1.DeviceRequestCounts, nodes []string) []string {
	wanted := "all"
	if r.GetRequested() > 0 {
		wanted = fmt.Sprint(r.GetRequested())
	}
	claim, request := r.GetPodClaim(), r.GetRequest()
	if claim == "" {
		claim = r.GetExtendedResource()
	}
	var excluded []string
	for _, of := range r.GetExcluded() {
		excluded = append(excluded, x.Excluded(of))
	}
	return []string{
		claim, request, r.GetDeviceClassName(), wanted, fmt.Sprintf("%d of %d", r.GetAvailable(), r.GetDevices()), strings.Join(excluded, ", "),
		fmt.Sprint(len(nodes)), words.Names(nodes),
	}
}
