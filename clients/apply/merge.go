package apply

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kubejson "sigs.k8s.io/json"
)

// mergeFunc applies the change from original to modified to current.
type mergeFunc func(meta strategicpatch.LookupPatchMeta, original, modified, current []byte) ([]byte, error)

// threeWay is kubectl's merge. It identifies items of lists by one field. So removing one of two spread constraints with the same
// topologyKey removes both, as in a real cluster.
func threeWay(meta strategicpatch.LookupPatchMeta, original, modified, current []byte) ([]byte, error) {
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
}

// byIdentity is threeWay, but identifies items by listKeys, as server-side apply does. It uses the text of all keys of an item as its
// merge key.
func byIdentity(meta strategicpatch.LookupPatchMeta, original, modified, current []byte) ([]byte, error) {
	documents := [][]byte{original, modified, current}
	for i, d := range documents {
		var err error
		if documents[i], err = rekeyed(d, joined); err != nil {
			return nil, err
		}
	}
	text, err := threeWay(meta, documents[0], documents[1], documents[2])
	if err != nil {
		return nil, err
	}
	return rekeyed(text, parted)
}

// joined returns the text of the keys of an item.
func joined(item map[string]any, keys []string) (any, error) {
	var values []any
	for _, name := range keys {
		values = append(values, keyValue(item, name))
	}
	text, err := json.Marshal(values)
	return string(text), err
}

// parted returns the first key of an item whose first field is joined.
func parted(item map[string]any, keys []string) (any, error) {
	text, _ := item[keys[0]].(string)
	var values []any
	if err := kubejson.UnmarshalCaseSensitivePreserveInts([]byte(text), &values); err != nil {
		return nil, err
	}
	return values[0], nil
}

// rekeyed returns a document with other merge keys of the items of lists with several keys.
func rekeyed(document []byte, key func(item map[string]any, keys []string) (any, error)) ([]byte, error) {
	if len(document) == 0 {
		return document, nil
	}
	var tree any
	if err := kubejson.UnmarshalCaseSensitivePreserveInts(document, &tree); err != nil { // integers stay integers
		return nil, err
	}
	var rekey func(part any, list string) error
	rekey = func(part any, list string) (err error) {
		switch p := part.(type) {
		case map[string]any:
			keys := listKeys[list]
			if len(keys) > 1 && p[keys[0]] != nil {
				if p[keys[0]], err = key(p, keys); err != nil {
					return err
				}
			}
			for name, inner := range p {
				if err := rekey(inner, name); err != nil {
					return err
				}
			}
		case []any:
			for _, item := range p {
				if err := rekey(item, list); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := rekey(tree, ""); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}
