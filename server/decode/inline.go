package decode

import (
	"bytes"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
)

type inlineTemplate struct {
	template  *api.PodTemplate
	canonical []byte
	shared    content.Shared // its reference, if the content keeps nodes
}

// inlineTemplates finds templates in pods on nodes by their encodings, so that each is decoded once. Many encoders write maps in
// random order, so encodings are compared with their labels in order.
type inlineTemplates struct {
	byEncoding map[string]encodedTemplate
	shared     int      // the number of templates with a reference
	added      [][]byte // templates with a reference that the decoder does not have yet
}

type encodedTemplate struct {
	*inlineTemplate
	isCanonical bool
}

// inlineTemplate returns the template in a pod on a node, nil if it is invalid, and whether raw is its canonical encoding after
// the call, which puts its labels in order.
func (r *reader) inlineTemplate(raw []byte) (_ *inlineTemplate, isCanonical bool) {
	known := &r.inline
	in := scan{data: raw}
	in.text(templateNamespace)
	if in.next(sized(templateLabels)) {
		r.readEntries(&in, sized(templateLabels), sized(2))
	}
	if e, ok := known.byEncoding[string(raw)]; ok {
		return e.inlineTemplate, e.isCanonical
	}
	template, form, ok := r.ownTemplate(raw)
	if !ok || template.Spec.NodeName != "" {
		return nil, false
	}
	if known.byEncoding == nil {
		known.byEncoding = make(map[string]encodedTemplate)
	}
	t := known.byEncoding[string(form)].inlineTemplate
	if t == nil {
		t = &inlineTemplate{template: template, canonical: form}
		if r.forms == formShared {
			t.shared = content.SharedAt(r.number, known.shared)
			known.shared++
			known.added = append(known.added, form)
		}
		known.byEncoding[text(form)] = encodedTemplate{t, true}
	}
	if bytes.Equal(raw, form) {
		return t, true
	}
	known.byEncoding[string(raw)] = encodedTemplate{t, false}
	return t, false
}
