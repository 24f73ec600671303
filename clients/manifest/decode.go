package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"
)

// decode decodes a JSON object strictly: unknown and repeated fields are errors.
func decode(raw []byte, into any) error {
	strict, err := strictjson.UnmarshalStrict(raw, into)
	if err != nil {
		return located(raw, mistyped(raw, err))
	}
	return errors.Join(strict...)
}

// located adds the path of a quantity that does not parse, which the decoder's error lacks.
func located(raw []byte, err error) error {
	if !errors.Is(err, resource.ErrFormatWrong) && !errors.Is(err, resource.ErrNumeric) && !errors.Is(err, resource.ErrSuffix) {
		return err
	}
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return err
	}
	if path := badQuantity(tree, nil, false); path != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// resourceLists are the fields whose values are quantities by resource.
var resourceLists = map[string]bool{
	"allocatable": true, "allocatedResources": true, "capacity": true, "limits": true, "overhead": true, "requests": true,
}

// badQuantity finds the first quantity in a resource list that does not parse.
func badQuantity(tree any, path *field.Path, isList bool) *field.Path {
	switch t := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(t)) {
			at := path.Child(key)
			if isList {
				at = path.Key(key)
			}
			if text, ok := t[key].(string); ok && isList {
				if _, err := resource.ParseQuantity(text); err != nil {
					return at
				}
				continue
			}
			if found := badQuantity(t[key], at, resourceLists[key]); found != nil {
				return found
			}
		}
	case []any:
		for i, item := range t {
			if found := badQuantity(item, path.Index(i), false); found != nil {
				return found
			}
		}
	}
	return nil
}
