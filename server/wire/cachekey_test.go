package wire_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

func about(name string) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: "address"}}, IncludeNodeNames: true,
		},
		Pod: &stowagev1.Pod{
			Name: name, Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 3}, Labels: map[string]string{"a": "b"},
		},
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

func TestCacheKey(t *testing.T) {
	address, name, key, ok := wire.CacheKey(encoded(t, about("web-1")))
	if address != "address" || name != "web-1" || !ok {
		t.Errorf("address %q, name %q, %v", address, name, ok)
	}
	for _, other := range []string{"", "web-2", strings.Repeat("x", 300)} {
		_, name, same, ok := wire.CacheKey(encoded(t, about(other)))
		if name != other || !bytes.Equal(key, same) || !ok {
			t.Errorf("a pod with the name %q has another key", other)
		}
	}
	for what, change := range map[string]func(*stowagev1.FilterRequest){
		"template":  func(m *stowagev1.FilterRequest) { m.Pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 4} },
		"label":     func(m *stowagev1.FilterRequest) { m.Pod.Labels["a"] = "c" },
		"names":     func(m *stowagev1.FilterRequest) { m.Context.IncludeNodeNames = false },
		"profile":   func(m *stowagev1.FilterRequest) { m.Context.Profile = &stowagev1.Profile{} },
		"candidate": func(m *stowagev1.FilterRequest) { m.CandidateNodes = &stowagev1.CandidateNodes{} },
	} {
		m := about("web-1")
		change(m)
		if _, _, other, ok := wire.CacheKey(encoded(t, m)); bytes.Equal(key, other) || !ok {
			t.Errorf("another %s has the same key", what)
		}
	}
}

func TestNoCacheKey(t *testing.T) {
	for what, change := range map[string]func(*stowagev1.FilterRequest){
		"no snapshot": func(m *stowagev1.FilterRequest) { m.Context.Base = nil },
		"no address":  func(m *stowagev1.FilterRequest) { m.GetContext().GetSnapshot().Address = "" },
		"a delta":     func(m *stowagev1.FilterRequest) { m.GetContext().GetSnapshot().Delta = &stowagev1.ClusterDelta{} },
		"no pod":      func(m *stowagev1.FilterRequest) { m.Pod = nil },
	} {
		m := about("web")
		change(m)
		if _, _, _, ok := wire.CacheKey(encoded(t, m)); ok {
			t.Errorf("a request with %s has a key", what)
		}
	}
	whole := encoded(t, about("web"))
	for i := range whole {
		address, _, key, ok := wire.CacheKey(whole[:i])
		if ok && proto.Unmarshal(whole[:i], new(stowagev1.FilterRequest)) != nil {
			t.Errorf("%d bytes are malformed, and have the key %q of %q", i, key, address)
		}
	}
	for what, more := range map[string]*stowagev1.FilterRequest{
		"pods": {Pod: about("x").Pod}, "contexts": {Context: &stowagev1.DecisionContext{IncludeNodeNames: true}},
	} {
		if _, _, _, ok := wire.CacheKey(slices.Concat(whole, encoded(t, more))); ok {
			t.Errorf("a request with two %s, which are merged, has a key", what)
		}
	}
	if _, _, _, ok := wire.CacheKey(bytes.Replace(whole, []byte("web"), []byte("w\xffb"), 1)); ok {
		t.Error("a name that is not UTF-8 has a key")
	}
}
