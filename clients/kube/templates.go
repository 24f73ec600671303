package kube

import (
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// templates states each template once. Its order is that of first use.
type templates struct {
	list  []*stowagev1.PodTemplate
	index map[string]uint32 // by deterministic encoding
	// places has the pods' places, and gets the templates': that of the first pod of each.
	places map[proto.Message]place
}

// share moves a pod's own template into the list.
func (t *templates) share(p *stowagev1.Pod) error {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(p.GetTemplate())
	if err != nil {
		return err
	}
	i, ok := t.index[string(key)]
	if !ok {
		i = uint32(len(t.list))
		t.index[string(key)] = i
		t.list = append(t.list, p.GetTemplate())
		t.places[p.GetTemplate()] = t.places[p]
	}
	p.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: i}
	return nil
}
