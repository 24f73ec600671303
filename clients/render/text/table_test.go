package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/answer/filter"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Parse errors are longer than a line.
func TestLongReasonsAreWrapped(t *testing.T) {
	reason := `parsing pod: requiredAntiAffinityTerms: key: Invalid value: "app": values[0][app]: Invalid value: "ssd,hdd": ` +
		`a valid label must be an empty string or consist of alphanumeric characters`
	var b strings.Builder
	text.Filter(&b, &filter.Answer{Response: &stowagev1.FilterResponse{
		Rejections: []*stowagev1.Rejection{
			{
				Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, Reasons: []*stowagev1.Reason{{Message: reason}},
				Nodes: &stowagev1.NodeList{Names: []string{"a", "b"}},
			},
			{
				Plugin:  stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT,
				Reasons: []*stowagev1.Reason{{Message: "Insufficient cpu"}, {Message: "Too many pods"}},
				Nodes:   &stowagev1.NodeList{Names: []string{"c"}},
			},
		},
		Message: "0/3 nodes are available: 2 " + reason + ".",
	}}, text.Style{Width: 100})
	want := `
NODES   VERDICT                                                                      PLUGIN             WHICH
2       parsing pod: requiredAntiAffinityTerms: key: Invalid value: "app":           InterPodAffinity   a, b
          values[0][app]: Invalid value: "ssd,hdd": a valid label must be an empty
          string or consist of alphanumeric characters
1       Insufficient cpu, Too many pods                                              NodeResourcesFit   c

0/3 nodes are available: 2 parsing pod: requiredAntiAffinityTerms: key: Invalid value: "app":
  values[0][app]: Invalid value: "ssd,hdd": a valid label must be an empty string or consist of
  alphanumeric characters.
`
	if d := cmp.Diff(want, "\n"+b.String()); d != "" {
		t.Error(d)
	}
}
