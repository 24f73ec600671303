package apply

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// othersOf returns the fields that managers other than the main one own. The main manager owns the most fields, and applies the
// object's manifest, whatever its name. Managers of subresources, such as status and scale, apply no manifests, but own their fields.
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

// withOwned returns a manifest, or a part of it, with the missing fields of the object that others own: server-side apply keeps them,
// even if the applier owns them, too. list is the field name of lists.
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
			own, isOwn := m[name]
			if inner, partly := others.Children.Get(at); partly {
				own = withOwned(own, value, name, inner)
			}
			if own == nil && !isOwn && others.Members.Has(at) {
				own = alone(value, name)
			}
			if own != nil {
				if out == nil {
					out = map[string]any{}
				}
				out[name] = own
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

// itemsWithOwned is withOwned for a list. An item that only others own has its identity and the fields that they own.
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

// alone returns the part of a value that belongs to the owner of its field, who owns none of its parts: a scalar, an atomic list or an
// atomic object is the whole value, other lists and objects are empty.
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

// atomic are the objects whose parts have no owners (x-kubernetes-map-type: atomic; client-go v0.37, applyconfigurations/internal).
// Lists without listKeys are atomic, too.
var atomic = map[string]bool{
	"selector": true, "nodeSelector": true, "labelSelector": true, "namespaceSelector": true,
	"preference": true, "requiredDuringSchedulingIgnoredDuringExecution": true,
	"configMapKeyRef": true, "dataSource": true, "fieldRef": true, "fileKeyRef": true, "nodePublishSecretRef": true,
	"resourceFieldRef": true, "secretKeyRef": true, "secretRef": true,
}
