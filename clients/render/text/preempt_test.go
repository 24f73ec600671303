package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/answer/preempt"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestWritePreempt(t *testing.T) {
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}, {Name: "b"}}}
	pod := func(name string) *stowagev1.PodReference {
		return &stowagev1.PodReference{Namespace: "shop", Name: name, Count: 1}
	}
	web := &stowagev1.PreemptionCandidate{Victims: []*stowagev1.PodReference{pod("web")}}
	for name, test := range map[string]struct {
		answer *stowagev1.PreemptResponse
		want   []string
	}{
		"no preemption": {
			&stowagev1.PreemptResponse{FeasibleNodes: &stowagev1.NodeList{Indexes: []uint32{1}}},
			[]string{"The pod needs no preemption: b can take it."},
		},
		"the nomination ends": {
			&stowagev1.PreemptResponse{Preemption: &stowagev1.Preemption{ClearsNomination: true}},
			[]string{"It clears status.nominatedNodeName, which is c."},
		},
		"safe": {
			&stowagev1.PreemptResponse{Safe: &stowagev1.SafePreemption{
				Candidate: web, InVain: "1 node does not fit",
				Replacements: []*stowagev1.Replacement{{
					Pod: pod("web"), Nodes: &stowagev1.NodeList{Indexes: []uint32{1}}, Evicted: []*stowagev1.PodReference{pod("small")},
				}},
				Unsafe: []*stowagev1.Replacement{
					{Pod: pod("agent"), UnplacedCount: 1, Message: "no room."}, {Pod: pod("own"), UnplacedCount: 1, Unknown: true},
					{Pod: pod("many"), UnplacedCount: 1},
				},
			}},
			[]string{
				"These evictions are in vain: 1 node does not fit", "shop/agent would come back and wait: no room.",
				"shop/own would come back and wait: it is not known whether its replacement has a node.",
				"shop/many would come back and wait: too many pods come back.",
				"Safe preemption: evict shop/web from a.", "  shop/web comes back on b, and evicts shop/small on a",
			},
		},
		"none is safe": {&stowagev1.PreemptResponse{Safe: &stowagev1.SafePreemption{}}, []string{"Safe preemption: there is none."}},
		"not all are looked at": {
			&stowagev1.PreemptResponse{Safe: &stowagev1.SafePreemption{ExaminedCount: 7, Truncated: true}},
			[]string{"Safe preemption: none of the 7 candidates examined; others were not."},
		},
		"on any nodes": {
			&stowagev1.PreemptResponse{AcrossNodes: &stowagev1.AcrossNodes{Candidate: web, Proven: true}},
			[]string{"On any nodes: without shop/web on a, a takes the pod; no others cost less."},
		},
		"not proven": {
			&stowagev1.PreemptResponse{AcrossNodes: &stowagev1.AcrossNodes{Candidate: web, Steps: 9}},
			[]string{"a takes the pod; the search ended after 9 steps, and others may cost less."},
		},
		"there are none": {
			&stowagev1.PreemptResponse{AcrossNodes: &stowagev1.AcrossNodes{Proven: true}},
			[]string{"On any nodes: no victims of lower priority make a node feasible."},
		},
		"none were found": {
			&stowagev1.PreemptResponse{AcrossNodes: &stowagev1.AcrossNodes{Steps: 9}},
			[]string{"On any nodes: the search ended after 9 steps and found no victims."},
		},
	} {
		var out bytes.Buffer
		pod := &stowagev1.PendingPods{Pod: &stowagev1.Pod{NominatedNodeName: "c"}}
		text.Preempt(&out, &preempt.Answer{Cluster: cluster, Response: test.answer, Entry: kube.Entry{Pods: pod}}, text.Style{Width: 200})
		for _, text := range test.want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: no %q in\n%s", name, text, out.String())
			}
		}
	}
}
