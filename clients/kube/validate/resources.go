package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containers checks containers (validateContainers), which share the ports of the node.
func containers(all []corev1.Container, path *field.Path) field.ErrorList {
	if len(all) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var out field.ErrorList
	names, ports := map[string]bool{}, map[string]bool{}
	for i := range all {
		out = append(out, container(&all[i], ports, path.Index(i))...)
		out = append(out, unique(all[i].Name, names, path.Index(i).Child("name"))...)
	}
	return out
}

// initContainers checks init containers (validateInitContainers), whose names differ from the names of containers as well. As they run
// one by one, two of them may have the same port of the node, sidecars included.
func initContainers(all, containers []corev1.Container, path *field.Path) field.ErrorList {
	var out field.ErrorList
	names := map[string]bool{}
	for _, c := range containers {
		names[c.Name] = true
	}
	for i := range all {
		out = append(out, container(&all[i], map[string]bool{}, path.Index(i))...)
		out = append(out, unique(all[i].Name, names, path.Index(i).Child("name"))...)
	}
	return out
}

// unique refuses a name that is taken, and takes it.
func unique(name string, taken map[string]bool, at *field.Path) field.ErrorList {
	if taken[name] {
		return field.ErrorList{field.Duplicate(at, name)}
	}
	taken[name] = name != ""
	return nil
}

func container(c *corev1.Container, taken map[string]bool, at *field.Path) field.ErrorList {
	var out field.ErrorList
	if c.Name == "" {
		out = append(out, field.Required(at.Child("name"), ""))
	} else {
		out = append(out, invalid(at.Child("name"), c.Name, validation.IsDNS1123Label(c.Name))...)
	}
	if c.Image == "" {
		out = append(out, field.Required(at.Child("image"), ""))
	}
	out = append(out, requirements(&c.Resources, at.Child("resources"))...)
	for i, p := range c.Ports {
		out = append(out, port(p, taken, at.Child("ports").Index(i))...)
	}
	return out
}

// requesting returns containers with the default of requests in pods, the limits (SetDefaults_Pod). Pod templates have none.
func requesting(all []corev1.Container) []corev1.Container {
	out := slices.Clone(all)
	for i := range out {
		r := &out[i].Resources
		requests := maps.Clone(r.Limits)
		if requests == nil {
			continue
		}
		maps.Copy(requests, r.Requests)
		r.Requests = requests
	}
	return out
}

// port checks a port, and adds its port of the node to the taken ones.
func port(p corev1.ContainerPort, taken map[string]bool, at *field.Path) field.ErrorList {
	var out field.ErrorList
	if p.ContainerPort == 0 {
		out = append(out, field.Required(at.Child("containerPort"), ""))
	} else {
		out = append(out, invalid(at.Child("containerPort"), p.ContainerPort, validation.IsValidPortNum(int(p.ContainerPort)))...)
	}
	protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
	out = append(out, oneOf(at.Child("protocol"), protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	if p.HostPort == 0 {
		return out
	}
	out = append(out, invalid(at.Child("hostPort"), p.HostPort, validation.IsValidPortNum(int(p.HostPort)))...)
	key := fmt.Sprintf("%s/%s/%d", protocol, p.HostIP, p.HostPort)
	if taken[key] {
		out = append(out, field.Duplicate(at.Child("hostPort"), key))
	}
	taken[key] = true
	return out
}

// requirements checks requests and limits (validateResourceRequirements).
func requirements(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	requests, limits := path.Child("requests"), path.Child("limits")
	out := append(amounts(r.Limits, limits), amounts(r.Requests, requests)...)
	names := slices.Concat(slices.Collect(maps.Keys(r.Limits)), slices.Collect(maps.Keys(r.Requests)))
	if slices.ContainsFunc(names, isHugePages) && !slices.Contains(names, corev1.ResourceCPU) && !slices.Contains(names, corev1.ResourceMemory) {
		out = append(out, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		limit, limited := r.Limits[name]
		switch {
		case !limited && !overcommitted(name):
			out = append(out, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case !limited:
		case !overcommitted(name) && request.Cmp(limit) != 0:
			out = append(out, field.Invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, &limit)))
		case request.Cmp(limit) > 0:
			out = append(out, field.Invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, &limit)))
		}
	}
	return out
}

// amounts checks the names and amounts of resources of a container.
func amounts(of corev1.ResourceList, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(of)) {
		at := path.Key(string(name))
		out = append(out, resourceName(name, at)...)
		out = append(out, amount(name, of[name], at)...)
	}
	return out
}

// amount checks an amount of a resource (ValidateResourceQuantityValue).
func amount(name corev1.ResourceName, of resource.Quantity, at *field.Path) field.ErrorList {
	var out field.ErrorList
	if of.Sign() < 0 {
		out = append(out, field.Invalid(at, of.String(), "must be greater than or equal to 0"))
	}
	if (extended(name) || name == corev1.ResourcePods) && of.MilliValue()%1000 != 0 {
		out = append(out, field.Invalid(at, of.String(), "must be an integer"))
	}
	return out
}

func resourceName(name corev1.ResourceName, at *field.Path) field.ErrorList {
	if wrong := validation.IsQualifiedName(string(name)); len(wrong) > 0 {
		return invalid(at, name, wrong)
	}
	standard := name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || isHugePages(name)
	switch {
	case !strings.Contains(string(name), "/") && !standard:
		return field.ErrorList{field.Invalid(at, name, "must be a standard resource for containers")}
	case strings.Contains(string(name), "/") && !native(name) && !extended(name):
		return field.ErrorList{field.Invalid(at, name, "doesn't follow extended resource name standard")}
	}
	return nil
}

// native, extended, isHugePages and overcommitted are pkg/apis/core/helper's IsNativeResource, IsExtendedResourceName,
// IsHugePageResourceName and IsOvercommitAllowed.
func native(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

func extended(name corev1.ResourceName) bool {
	const quota = corev1.DefaultResourceRequestsPrefix
	return !native(name) && !strings.HasPrefix(string(name), quota) && len(validation.IsQualifiedName(quota+string(name))) == 0
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func overcommitted(name corev1.ResourceName) bool { return native(name) && !isHugePages(name) }

// invalid returns an error for each message about a value.
func invalid(at *field.Path, value any, messages []string) field.ErrorList {
	var out field.ErrorList
	for _, m := range messages {
		out = append(out, field.Invalid(at, value, m))
	}
	return out
}

// oneOf refuses a value that is not supported.
func oneOf[T ~string](at *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, value, supported)}
}
