package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func draw(p text.Picture) string {
	var b strings.Builder
	p.Draw(&b)
	return b.String()
}

func TestPictureOfNodesWithAndWithoutTheLabel(t *testing.T) {
	got := draw(text.Picture{
		TopologyKey: "zone",
		Cluster: &stowagev1.Cluster{
			PodTemplates: []*stowagev1.PodTemplate{{Controller: &stowagev1.ControllerReference{Name: "db"}}},
			Nodes: []*stowagev1.Node{
				{Name: "b", Labels: map[string]string{"zone": "z2"}},
				{
					Name: "a-node-with-a-very-long-name-indeed", Labels: map[string]string{"zone": "z1"},
					Pods: []*stowagev1.Pod{{Name: "old"}, {}},
				},
				{Name: "c", PodCounts: []*stowagev1.PodCount{{TemplateIndex: 0, Count: 3}}},
			},
		},
		New:   map[string][]string{"a-node-with-a-very-long-name-indeed": {"web", "web", "api"}},
		Width: 80,
	})
	want := `zone
z1                         z2                         (without the label)
┌ a-node-…ng-name-indeed ┐ ┌ b ─────────────────────┐ ┌ c ─────────────────────┐
│ + web ×2               │ │                        │ │   db ×3                │
│ + api                  │ │                        │ │                        │
│   old                  │ │                        │ │                        │
│   (unnamed)            │ │                        │ │                        │
└────────────────────────┘ └────────────────────────┘ └────────────────────────┘
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPictureOfNodesThatAreAlike(t *testing.T) {
	c := &stowagev1.Cluster{}
	placed := map[string][]string{}
	for i := range 9 {
		n := &stowagev1.Node{Name: fmt.Sprint("n", i)}
		for j := range 10 {
			n.Pods = append(n.Pods, &stowagev1.Pod{Name: fmt.Sprint("p", j)})
		}
		c.Nodes = append(c.Nodes, n)
		placed[n.Name] = []string{"x"}
	}
	got := draw(text.Picture{Cluster: c, New: placed, Width: 80})
	for _, want := range []string{"n0 and 8 alike", "│ + x ", "│ … 4 more "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// loaded is a node whose pods request a part of its CPU and memory, in percent.
func loaded(name, zone string, cpu, memory int64) *stowagev1.Node {
	amounts := func(cpu, memory int64) *stowagev1.Resources {
		return &stowagev1.Resources{CpuMillis: &cpu, MemoryBytes: &memory}
	}
	return &stowagev1.Node{
		Name: name, Labels: map[string]string{"zone": zone}, Allocatable: amounts(100, 100),
		Pods: []*stowagev1.Pod{{Name: "load-of-" + name, Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Spec: &stowagev1.PodSpec{Containers: []*stowagev1.Container{{Requests: amounts(cpu, memory)}}},
		}}}},
	}
}

func drawFilled(t *testing.T, c *stowagev1.Cluster, placed map[string][]string, width int) string {
	t.Helper()
	full, err := fill.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	return draw(text.Picture{Cluster: c, TopologyKey: "zone", New: placed, Fill: full, Width: width})
}

func TestPictureShowsHowFullNodesAre(t *testing.T) {
	c := &stowagev1.Cluster{Nodes: []*stowagev1.Node{loaded("a", "z1", 62, 31), loaded("b", "z2", 0, 130)}}
	want := `zone
z1                                 z2
┌ a ─────────────────────────────┐ ┌ b ─────────────────────────────┐
│ cpu ███░░░ 62% mem █░░░░░ 31%  │ │ cpu ░░░░░░  0% mem ██████130%  │
│   load-of-a                    │ │   load-of-b                    │
└────────────────────────────────┘ └────────────────────────────────┘
`
	if d := cmp.Diff(want, drawFilled(t, c, nil, 80)); d != "" {
		t.Error(d)
	}
	if got := drawFilled(t, c, nil, 45); !strings.Contains(got, "│ cpu 62% mem 31%    │") {
		t.Errorf("narrow:\n%s", got)
	}
}

// TestPictureOfManyNodes holds that nodes beyond what a column takes are boxes by quarters, and no node is left out.
func TestPictureOfManyNodes(t *testing.T) {
	c := &stowagev1.Cluster{}
	placed := map[string][]string{}
	for i := range 80 {
		c.Nodes = append(c.Nodes, loaded(fmt.Sprint("n", i), "z1", int64(i), 5))
		if i%20 == 0 {
			placed[fmt.Sprint("n", i)] = []string{"web", "web"}
		}
	}
	got := drawFilled(t, c, placed, 60)
	for _, want := range []string{
		"┌ 25 nodes ──", "│ cpu 0–24% mem 5% ", "│ cpu 25–49% mem 5% ", "│ cpu 50–74% mem 5% ", "┌ 5 nodes ──", "│ cpu 75–79% mem 5% ",
		"│ + web ×4 ", "│   25 pods ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestPictureOfManyDomains holds that domains with new pods are drawn first, and that hostnames are no domains of a picture.
func TestPictureOfManyDomains(t *testing.T) {
	c := &stowagev1.Cluster{}
	for i := range 60 {
		c.Nodes = append(c.Nodes, loaded(fmt.Sprint("n", i), fmt.Sprintf("rack-%02d", i/2), 1, 1))
	}
	got := drawFilled(t, c, map[string][]string{"n59": {"web"}}, 60)
	for _, want := range []string{"rack-29", "│ + web ", "… 6 more domains with 12 nodes"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for i, n := range c.Nodes {
		n.Labels["zone"] = fmt.Sprint("host-", i)
	}
	if got := drawFilled(t, c, nil, 60); strings.Contains(got, "host-") || !strings.Contains(got, "60 nodes") {
		t.Errorf("drawn by host:\n%s", got)
	}
}

// TestPictureKeepsToItsWidth draws arbitrary clusters.
func TestPictureKeepsToItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(40, 120).Draw(t, "width")
		c := &stowagev1.Cluster{}
		for i := range rapid.IntRange(0, 30).Draw(t, "nodes") {
			n := &stowagev1.Node{Name: fmt.Sprint(i, rapid.StringMatching(`[a-zé]{0,50}`).Draw(t, "name"))}
			if rapid.Bool().Draw(t, "labelled") {
				n.Labels = map[string]string{"k": rapid.StringMatching(`[a-z]{0,40}`).Draw(t, "value")}
			}
			for range rapid.IntRange(0, 12).Draw(t, "pods") {
				n.Pods = append(n.Pods, &stowagev1.Pod{Name: rapid.StringMatching(`[a-z]{0,50}`).Draw(t, "pod")})
			}
			c.Nodes = append(c.Nodes, n)
		}
		for line := range strings.Lines(draw(text.Picture{Cluster: c, TopologyKey: "k", Width: width})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("%d runes of at most %d: %s", n, width, line)
			}
		}
	})
}

func TestTopologyKey(t *testing.T) {
	antiAffinity := func(key string) []*stowagev1.PodTemplate {
		return []*stowagev1.PodTemplate{{Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
			Preferred: []*stowagev1.WeightedPodAffinityTerm{{Term: &stowagev1.PodAffinityTerm{TopologyKey: key}}},
		}}}}}
	}
	node := func(keys ...string) []*stowagev1.Node {
		n := &stowagev1.Node{Labels: map[string]string{}}
		for _, k := range keys {
			n.Labels[k] = "v"
		}
		return []*stowagev1.Node{n}
	}
	for _, c := range []struct {
		cluster *stowagev1.Cluster
		want    string
	}{
		{&stowagev1.Cluster{}, ""},
		{
			&stowagev1.Cluster{
				Nodes: node("kubernetes.io/hostname", "topology.kubernetes.io/zone"), PodTemplates: antiAffinity("kubernetes.io/hostname"),
			}, "topology.kubernetes.io/zone",
		},
		{&stowagev1.Cluster{Nodes: node("kubernetes.io/hostname", "rack"), PodTemplates: antiAffinity("rack")}, "rack"},
		{
			&stowagev1.Cluster{Nodes: node("kubernetes.io/hostname", "rack"), PodTemplates: antiAffinity("kubernetes.io/hostname")},
			"kubernetes.io/hostname",
		},
		{&stowagev1.Cluster{Nodes: node("kubernetes.io/hostname"), PodTemplates: antiAffinity("rack")}, ""},
	} {
		if got := words.TopologyKey(c.cluster, nil); got != c.want {
			t.Errorf("%v: got %q, want %q", c.cluster, got, c.want)
		}
	}
}

// TestEveryNumberHasAWord holds that what the contract can say has a wording of its own.
func TestEveryNumberHasAWord(t *testing.T) {
	for n := range stowagev1.Plugin_name {
		if word := words.Plugin(stowagev1.Plugin(n)); n != 0 && strings.HasPrefix(word, "PLUGIN_") {
			t.Error(word)
		}
	}
	for n := range stowagev1.TopologyRule_name {
		if word := words.Rule(stowagev1.TopologyRule(n)); n != 0 && strings.HasPrefix(word, "TOPOLOGY_RULE_") {
			t.Error(word)
		}
	}
	for n := range stowagev1.PodGroupStatus_name {
		if word := words.GroupStatus(stowagev1.PodGroupStatus(n)); n != 0 && strings.HasPrefix(word, "POD_GROUP_STATUS_") {
			t.Error(word)
		}
	}
	otherwise := map[stowagev1.Plugin]bool{
		stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD:                true, // its TopologyRule has the words
		stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY:                 true, // the same
		stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION: true, // has no rules
		stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY:                     true, // has no rules
		stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION:                 true, // has no rules
		stowagev1.Plugin_PLUGIN_TOPOLOGY_PLACEMENT_GENERATOR:       true, // has no rules
	}
	for n := range stowagev1.Plugin_name {
		p := stowagev1.Plugin(n)
		if words := words.PodRule("x", nil, &stowagev1.PodRule{Plugin: p}); n != 0 && !otherwise[p] &&
			!strings.HasPrefix(words, "x ") {
			t.Errorf("no words for a rule of %v: %q", p, words)
		}
	}
	for n := range stowagev1.UncountedReason_name {
		if word := words.Uncounted(stowagev1.UncountedReason(n)); n != 0 && strings.HasPrefix(word, "UNCOUNTED_REASON_") {
			t.Error(word)
		}
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		name   string
		amount int64
		want   string
	}{
		{"cpu", 1500, "1500m"}, {"cpu", 2000, "2"}, {"memory", 1 << 30, "1Gi"}, {"hugepages-2Mi", 4 << 20, "4Mi"}, {"pods", 110, "110"},
		{"example.com/gpu", 2000, "2k"},
	} {
		if got := words.Quantity(c.name, c.amount); got != c.want {
			t.Errorf("%s %d: got %s, want %s", c.name, c.amount, got, c.want)
		}
	}
}

func TestDoubtsAreListedOnce(t *testing.T) {
	written := func(fields []*stowagev1.UnreadField) string {
		var b strings.Builder
		var all words.Doubts
		for _, u := range fields {
			d := &stowagev1.Doubt{Kind: stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD, Unread: u}
			all.Add([]*stowagev1.Doubt{d}, func(*stowagev1.PodReference) string { return "" })
		}
		text.Doubts(&b, &all, 60)
		return b.String()
	}
	if got := written(nil); got != "" {
		t.Errorf("got %q of nothing", got)
	}
	claim := &stowagev1.UnreadField{
		Object: "Pod shop/db", Field: "spec.volumes[0].persistentVolumeClaim", Consequence: "some nodes cannot use it",
	}
	want := `
Not read, so kube-scheduler might decide otherwise:
  Pod shop/db spec.volumes[0].persistentVolumeClaim: some
    nodes cannot use it
`
	if d := cmp.Diff(want, written([]*stowagev1.UnreadField{claim, claim})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var many []*stowagev1.UnreadField
	for i := range 25 {
		many = append(many, &stowagev1.UnreadField{Object: fmt.Sprint("Pod shop/db-", i), Field: "spec", Consequence: "the same"})
	}
	if got := written(many); !strings.HasPrefix(got,
		"\nNot read, so kube-scheduler might decide otherwise:\n  Pod shop/db-0 spec, ") ||
		!strings.Contains(got, "more: the same\n") || strings.Contains(got, "db-9 ") {
		t.Errorf("got\n%s", got)
	}
}

// TestEveryDoubtHasWords says that a kind that the contract gets has words of its own, and that one of a newer server is listed.
func TestEveryDoubtHasWords(t *testing.T) {
	kinds := stowagev1.DoubtKind(0).Descriptor().Values()
	titles := map[string]bool{}
	for i := range kinds.Len() {
		kind := stowagev1.DoubtKind(i + 1)
		if i+1 == kinds.Len() {
			kind = 99
		}
		var all words.Doubts
		doubts := []*stowagev1.Doubt{{Kind: kind, Name: "name"}, {Kind: kind, Name: "name", Pod: &stowagev1.PodReference{Name: "b"}}}
		all.Add(doubts, func(p *stowagev1.PodReference) string { return "Pod shop/" + p.GetName() })
		var b strings.Builder
		text.Doubts(&b, &all, 60)
		title, list, _ := strings.Cut(strings.TrimPrefix(b.String(), "\n"), "\n")
		if titles[title] || !strings.HasSuffix(title, ":") || strings.Contains(title, "Not decided (") != (kind == 99) ||
			kind != stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD && !strings.Contains(list, "Pod shop/b") {
			t.Errorf("%v:\n%s", kind, b.String())
		}
		titles[title] = true
		if got := all.Counts(); len(got) != 1 || !strings.HasPrefix(got[0], "2 ") && kind != stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD {
			t.Errorf("%v: %v", kind, got)
		}
	}
}
