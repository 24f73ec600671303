package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// listKeys are the fields that identify the items of a list. Other lists are replaced as a whole.
var listKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"env":                       {"name"},
	"ports":                     {"containerPort", "protocol"},
	"volumes":                   {"name"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"schedulingGates":           {"name"},
	"resourceClaims":            {"name"},
	"imagePullSecrets":          {"name"},
	"hostAliases":               {"ip"},
	"claims":                    {"name"},
	"evictionResponders":        {"name"},
}

// keyValue returns the value of a key of an item, nil if there is none.
func keyValue(item map[string]any, name string) any {
	if item[name] == nil && name == "protocol" {
		return string(corev1.ProtocolTCP)
	}
	return item[name]
}

// identity returns the part of an item that identifies it.
func identity(item any, list string) map[string]any {
	object, _ := item.(map[string]any)
	out := map[string]any{}
	for _, name := range listKeys[list] {
		if value, ok := object[name]; ok {
			out[name] = value
		}
	}
	return out
}

// keyOf returns the identity of an item of a list. ok is false if items of the list have no identity.
func keyOf(list string, item any) (key fieldpath.PathElement, ok bool) {
	object, _ := item.(map[string]any)
	var fields []any
	for _, name := range listKeys[list] {
		value := keyValue(object, name)
		if value == nil {
			return key, false
		}
		fields = append(fields, name, value)
	}
	if len(fields) == 0 {
		return key, false
	}
	return fieldpath.KeyElementByFields(fields...), true
}

// defaults are the API server's values for missing fields (pkg/apis/{core,apps,batch}/v1/defaults.go, v1.37): a manifest without such
// a field does not remove it. nil stands for every value.
var defaults = map[string][]any{
	"restartPolicy":                 {"Always"},
	"dnsPolicy":                     {"ClusterFirst"},
	"schedulerName":                 {corev1.DefaultSchedulerName},
	"terminationGracePeriodSeconds": {30.0},
	"terminationMessagePath":        {corev1.TerminationMessagePathDefault},
	"terminationMessagePolicy":      {"File"},
	"imagePullPolicy":               nil, // by the image's tag
	"serviceAccount":                nil, // a copy of serviceAccountName
	"creationTimestamp":             nil,
	"protocol":                      {"TCP"},
	"scheme":                        {"HTTP"},
	"apiVersion":                    {"v1"},
	"timeoutSeconds":                {1.0},
	"periodSeconds":                 {10.0},
	"successThreshold":              {1.0},
	"failureThreshold":              {3.0},
	"defaultMode":                   {420.0},
	"type":                          {"", "ClusterIP"},

	// of workloads
	"replicas":                             {1.0},
	"progressDeadlineSeconds":              {600.0},
	"revisionHistoryLimit":                 {10.0},
	"strategy":                             {rolling("25%", "25%")},
	"updateStrategy":                       {rolling(0.0, 1.0), map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": 0.0}}},
	"podManagementPolicy":                  {"OrderedReady"},
	"persistentVolumeClaimRetentionPolicy": {map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}},
	"serviceName":                          {""},
	"parallelism":                          {1.0},
	"completions":                          {1.0},
	"backoffLimit":                         {6.0},
	"completionMode":                       {"NonIndexed"},
	"podReplacementPolicy":                 nil,
	"manualSelector":                       {false},
	"suspend":                              {false},
	"concurrencyPolicy":                    {"Allow"},
	"successfulJobsHistoryLimit":           {3.0},
	"failedJobsHistoryLimit":               {1.0},

	// of services, which only the selector is read of
	"clusterIP": nil, "clusterIPs": nil, "ipFamilies": nil, "ipFamilyPolicy": nil, "internalTrafficPolicy": nil,
	"sessionAffinity": {"None"}, "nodePort": nil, "targetPort": nil, "healthCheckNodePort": nil, "allocateLoadBalancerNodePorts": nil,
	"externalTrafficPolicy": nil,
}

func rolling(surge, unavailable any) map[string]any {
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
}

// verbatim are objects whose keys are not field names.
var verbatim = map[string]bool{
	"annotations": true, "labels": true, "matchLabels": true, "nodeSelector": true, "requests": true, "limits": true, "podFixed": true,
}

// undefaulted returns a value without the API server's defaults. ok is false if nothing is left.
func undefaulted(value any, name string) (out any, ok bool) {
	known, listed := defaults[name]
	isDefault := func(d any) bool { return reflect.DeepEqual(d, value) }
	if value == nil || listed && (known == nil || slices.ContainsFunc(known, isDefault)) {
		return nil, false
	}
	switch v := value.(type) {
	case map[string]any:
		if verbatim[name] {
			return v, len(v) > 0
		}
		object := map[string]any{}
		for key, inner := range v {
			if left, ok := undefaulted(inner, key); ok {
				object[key] = left
			}
		}
		return object, len(object) > 0
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], ok = undefaulted(v[i], ""); !ok {
				list[i] = v[i]
			}
		}
		return list, len(list) > 0
	}
	return value, true
}

// missing returns the paths of the fields of an object that another form of it lacks.
func missing(has, form any, name string, path *field.Path) []string {
	switch h := has.(type) {
	case map[string]any:
		f, ok := form.(map[string]any)
		if !ok {
			return []string{path.String()}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(h)) {
			at := path.Child(key)
			if verbatim[name] {
				at = path.Key(key)
			}
			if _, ok := f[key]; !ok {
				out = append(out, at.String())
				continue
			}
			out = append(out, missing(h[key], f[key], key, at)...)
		}
		return out
	case []any:
		if f, ok := form.([]any); ok {
			return missingItems(h, f, name, path)
		}
		return []string{path.String()}
	}
	return nil
}

// itemName returns the first key of an item of a list, or all keys if another item has the same first key.
func itemName(item any, list []any, name string) string {
	keys := func(item any) (out []string) {
		object, _ := item.(map[string]any)
		for _, key := range listKeys[name] {
			out = append(out, fmt.Sprint(keyValue(object, key)))
		}
		return out
	}
	own, same := keys(item), 0
	for _, other := range list {
		if keys(other)[0] == own[0] {
			same++
		}
	}
	if same > 1 {
		return strings.Join(own, ",")
	}
	return own[0]
}

// missingItems compares the items of lists by their identity, or else their number.
func missingItems(has, form []any, name string, path *field.Path) []string {
	var out []string
	for i, item := range has {
		key, ok := keyOf(name, item)
		at := path.Index(i)
		if !ok {
			if i >= len(form) {
				out = append(out, at.String())
			}
			continue
		}
		at = path.Key(itemName(item, has, name))
		other := slices.IndexFunc(form, func(f any) bool { of, ok := keyOf(name, f); return ok && of.Equals(key) })
		if other < 0 {
			out = append(out, at.String())
			continue
		}
		out = append(out, missing(item, form[other], "", at)...)
	}
	return out
}
