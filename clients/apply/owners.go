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
			stated, isStated := m[name]
			if inner, partly := others.Children.Get(at); partly {
				stated = withOwned(stated, value, name, inner)
			}
			if stated == nil && !isStated && others.Members.Has(at) {
				stated = alone(value, name)
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

// itemsWithOwned does so for a list. An item that only others own is what identifies it, and what they own of it.
func itemsWithOwned(manifest, object []any, list string, others *fieldpath.Set) []any {
	out := slices.Clone(manifest)
	for _, item := range object {
		key, ok := keyOf(list, item)
		if !ok {
			continue
		}
		inner, partly := others.Children.Get(key)
		if !partly {
			inner = &fieldpath.Set{}
		}
		at := slices.IndexFunc(out, func(i any) bool { k, ok := keyOf(list, i); return ok && k.Equals(key) })
		switch {
		case at >= 0:
			out[at] = withOwned(out[at], item, "", inner)
		case partly || others.Members.Has(key):
			out = append(out, withOwned(identity(item, list), item, "", inner))
		}
	}
	return out
}

// alone returns what the owner of a field owns if it owns no part of it: the value of a scalar and of an atomic list or object, and
// otherwise the empty list or object.
func alone(value any, name string) any {
	switch value.(type) {
	case map[string]any:
		if !atomic[name] {
			return map[string]any{}
		}
	case []any:
		if len(listKeys[name]) > 0 {
			return []any{}
		}
	}
	return value
}

// atomic are the objects without owners of their parts (x-kubernetes-map-type: atomic; client-go v0.37, applyconfigurations/internal).
// Lists without listKeys are atomic, too.
var atomic = map[string]bool{
	"selector": true, "nodeSelector": true, "labelSelector": true, "namespaceSelector": true,
	"preference": true, "requiredDuringSchedulingIgnoredDuringExecution": true,
	"configMapKeyRef": true, "dataSource": true, "fieldRef": true, "fileKeyRef": true, "nodePublishSecretRef": true,
	"resourceFieldRef": true, "secretKeyRef": true, "secretRef": true,
}
