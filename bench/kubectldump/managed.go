package kubectldump

import (
	"fmt"
	"time"
)

// manage adds the managed fields that the API server keeps: one manager wrote the spec and metadata, another one the status.
func manage(tree map[string]any, when time.Time) {
	metadata := tree["metadata"].(map[string]any)
	own := map[string]any{"annotations": metadata["annotations"], "labels": metadata["labels"]}
	desired := map[string]any{"metadata": own, "spec": tree["spec"]}
	entry := func(manager, subresource string, of map[string]any) map[string]any {
		out := map[string]any{
			"manager": manager, "operation": "Update", "apiVersion": tree["apiVersion"], "time": when.Format(time.RFC3339),
			"fieldsType": "FieldsV1", "fieldsV1": fieldsOf(of),
		}
		if subresource != "" {
			out["subresource"] = subresource
		}
		return out
	}
	metadata["managedFields"] = []any{
		entry("kube-controller-manager", "", desired), entry("kubelet", "status", map[string]any{"status": tree["status"]}),
	}
}

// fieldsOf returns the set of an object's fields: f: stands before a field, k: before the key of an element of a list.
func fieldsOf(tree any) map[string]any {
	out := map[string]any{}
	switch t := tree.(type) {
	case map[string]any:
		for name, value := range t {
			out["f:"+name] = fieldsOf(value)
		}
	case []any:
		for _, value := range t {
			item, _ := value.(map[string]any)
			for _, key := range []string{"name", "type", "key", "topologyKey", "ip"} {
				if id, ok := item[key]; ok {
					fields := fieldsOf(item)
					fields["."] = map[string]any{}
					out[fmt.Sprintf(`k:{%q:%q}`, key, id)] = fields
					break
				}
			}
		}
	}
	return out
}
