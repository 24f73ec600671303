package apply

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// othersOf returns the fields of an object that managers own other than the one with the most fields: that one applies the object's
// manifest, whatever its name. Managers of subresources, such as status and scale, apply no manifests, but own their fields.
func othersOf(o metav1.Object) (*fieldpath.Set, error) {
	applier, others := &fieldpath.Set{}, &fieldpath.Set{}
	for _, m := range o.GetManagedFields() {
		if m.FieldsV1 == nil {
			continue
		}
		fields := &fieldpath.Set{}
		if err := fields.FromJSON(m.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		if m.Subresource == "" && fields.Size() > applier.Size() {
			applier, fields = fields, applier
		}
		others = others.Union(fields)
	}
	return others, nil
}

// withOwned returns a manifest, or a part of it, with what it lacks of an object's and others own: server-side apply leaves that, even
// if the applier owns it, too. list is the field of lists.
func withOwned(manifest, object any, list string, others *fieldpath.Set) any {
	switch o := object.(type) {
	case map[string]any:
		m, ok := manifest.(map[string]any)
		if manifest != nil && !ok {
			return manifest
		}
		out := maps.Clone(m)
		for name, value := range o {
			at := fieldpath.FieldNameElement(name)
			inner, partly := others.Children.Get(at)
			stated, isStated := m[name]
			switch {
			case partly:
				stated = withOwned(stated, value, name, inner)
			case others.Members.Has(at) && !isStated:
				stated = value
			}
			if stated != nil {
				if out == nil {
					out = map[string]any{}
				}
				out[name] = stated
			}
		}
		if out != nil {
			return out
		}
	case []any:
		m, _ := manifest.([]any)
		if out := itemsWithOwned(m, o, list, others); out != nil {
			return out
		}
	}
	return manifest
}

// itemsWithOwned does so for a list. An item that others own a part of stays whole.
func itemsWithOwned(manifest, object []any, list string, others *fieldpath.Set) []any {
	out := slices.Clone(manifest)
	for _, item := range object {
		key, ok := keyOf(list, item)
		if !ok {
			continue
		}
		inner, partly := others.Children.Get(key)
		at := slices.IndexFunc(out, func(i any) bool { k, ok := keyOf(list, i); return ok && k.Equals(key) })
		switch {
		case at >= 0 && partly:
			out[at] = withOwned(out[at], item, "", inner)
		case at < 0 && (partly || others.Members.Has(key)):
			out = append(out, item)
		}
	}
	return out
}
