package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

const snapshotField = 7 // of FilterRequest

func about(name string) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{
		Snapshot: &stowagev1.SnapshotReference{Address: "address"},
		Pod: &stowagev1.Pod{
			Name: name, Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 3}, Labels: map[string]string{"a": "b"},
		},
		IncludeNodeNames: true,
	}
}

func encoded(t *testing.T, m *stowagev1.FilterRequest) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestForm(t *testing.T) {
	address, name, form, ok := wire.Form(encoded(t, about("web-1")), snapshotField)
	if address != "address" || name != "web-1" || !ok {
		t.Errorf("address %q, name %q, %v", address, name, ok)
	}
	for _, other := range []string{"", "web-2", strings.Repeat("x", 300)} {
		_, name, same, ok := wire.Form(encoded(t, about(other)), snapshotField)
		if name != other || !bytes.Equal(form, same) || !ok {
			t.Errorf("a pod with the name %q has another form", other)
		}
	}
	for what, change := range map[string]func(*stowagev1.FilterRequest){
		"template":  func(m *stowagev1.FilterRequest) { m.Pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 4} },
		"label":     func(m *stowagev1.FilterRequest) { m.Pod.Labels["a"] = "c" },
		"names":     func(m *stowagev1.FilterRequest) { m.IncludeNodeNames = false },
		"profile":   func(m *stowagev1.FilterRequest) { m.Profile = &stowagev1.Profile{} },
		"candidate": func(m *stowagev1.FilterRequest) { m.CandidateNodes = &stowagev1.NodeList{} },
	} {
		m := about("web-1")
		change(m)
		if _, _, other, ok := wire.Form(encoded(t, m), snapshotField); bytes.Equal(form, other) || !ok {
			t.Errorf("another %s has the same form", what)
		}
	}
}

func TestNoForm(t *testing.T) {
	for what, change := range map[string]func(*stowagev1.FilterRequest){
		"no snapshot": func(m *stowagev1.FilterRequest) { m.Snapshot = nil },
		"no address":  func(m *stowagev1.FilterRequest) { m.Snapshot.Address = "" },
		"a delta":     func(m *stowagev1.FilterRequest) { m.Snapshot.Delta = &stowagev1.ClusterDelta{} },
		"no pod":      func(m *stowagev1.FilterRequest) { m.Pod = nil },
	} {
		m := about("web")
		change(m)
		if _, _, _, ok := wire.Form(encoded(t, m), snapshotField); ok {
			t.Errorf("a request with %s has a form", what)
		}
	}
	whole := encoded(t, about("web"))
	for i := range whole {
		address, _, form, ok := wire.Form(whole[:i], snapshotField)
		if ok && proto.Unmarshal(whole[:i], new(stowagev1.FilterRequest)) != nil {
			t.Errorf("%d bytes are malformed, and have the form %q of %q", i, form, address)
		}
	}
	if _, _, _, ok := wire.Form(append(whole, encoded(t, &stowagev1.FilterRequest{Pod: about("x").Pod})...), snapshotField); ok {
		t.Error("a request with two pods, which are merged, has a form")
	}
	if _, _, _, ok := wire.Form(bytes.Replace(whole, []byte("web"), []byte("w\xffb"), 1), snapshotField); ok {
		t.Error("a name that is not UTF-8 has a form")
	}
}
