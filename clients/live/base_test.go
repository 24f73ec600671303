package live

import (
	"fmt"
	"log/slog"
	"testing"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A failed rebuild has renumbered the templates, so no delta may refer to the base before it.
func TestFailedRebuildDropsTheBase(t *testing.T) {
	m := newModel(slog.New(slog.DiscardHandler))
	c := &Cluster{model: m}
	for i := range 2 {
		m.templates.use(m.templates.intern(&stowagev1.PodTemplate{Namespace: fmt.Sprint(i)}, fmt.Sprint(i)), 1)
	}
	m.spaces.set("bad", &stowagev1.Namespace{Name: "bad"})
	if _, err := c.current(); err != nil {
		t.Fatal(err)
	}
	for i := range wasteAllowed + 2 {
		m.templates.intern(&stowagev1.PodTemplate{Namespace: fmt.Sprint("new-", i)}, fmt.Sprint("new-", i))
	}
	m.templates.use(0, -1)
	c.view = nil
	m.spaces.set("bad", &stowagev1.Namespace{Name: "\xff"})
	if _, err := c.current(); err == nil {
		t.Fatal("the invalid namespace is accepted")
	}
	m.spaces.set("bad", nil)
	v, err := c.current()
	if err != nil {
		t.Fatal(err)
	}
	if v.base.templates != len(m.templates.list) {
		t.Errorf("the base has %d templates, the model %d", v.base.templates, len(m.templates.list))
	}
}
