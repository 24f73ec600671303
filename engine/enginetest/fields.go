package enginetest

import (
	"math/rand/v2"
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// RandomFields gives a random cluster and pods to place the fields that the other functions leave out: each field that is not set
// gets a value now and then. TestEveryFieldIsDrawn fails for a field that neither they nor the tables below have.
func RandomFields(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	zero := int32(0)
	c.PodGroups = append(c.PodGroups,
		api.PodGroup{Name: "default/group", Minimum: rng.IntN(3), DisruptAll: rng.IntN(2) == 0},
		api.PodGroup{Name: "default/apart", Keys: []string{zoneKey}, Constrained: true, Priority: &zero},
	)
	if rng.IntN(3) == 0 {
		RandomStorage(rng, c, pods)
	}
	if rng.IntN(3) == 0 {
		RandomDevices(rng, c, pods)
	}
	f := filler{rng: rng, tables: []map[string]func(*rand.Rand) any{values}, seen: make(map[any]bool)}
	f.fill(reflect.ValueOf(c).Elem())
	f.tables = append(f.tables, pendingValues)
	for i := range pods {
		own := *pods[i].Template // nodes may have pods of it
		pods[i].Template, pods[i].TemplateIndex = &own, -1
		f.fill(reflect.ValueOf(&pods[i]).Elem())
	}
}

const zoneKey = "topology.kubernetes.io/zone"

type filler struct {
	rng    *rand.Rand
	tables []map[string]func(*rand.Rand) any
	seen   map[any]bool // pointers
}

// rarely is how many fields without a value stay so for each that gets one.
const rarely = 12

func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !f.seen[v.Interface()] {
			f.seen[v.Interface()] = true
			f.fill(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.IsZero() || v.Type().Field(i).Anonymous {
				f.fill(field)
				continue
			}
			for _, values := range f.tables {
				draw := values[v.Type().Name()+"."+v.Type().Field(i).Name]
				if draw != nil && f.rng.IntN(rarely) == 0 {
					field.Set(reflect.ValueOf(draw(f.rng))) // which others may share, and so stays as it is
				}
			}
		}
	}
}

// of returns a function that returns one of some values.
func of[T any](values ...T) func(*rand.Rand) any {
	return func(rng *rand.Rand) any { return pick(rng, values...) }
}

func requirements(key string, values ...string) []api.Requirement {
	return []api.Requirement{{Key: key, Operator: api.In, Values: values}}
}

// values are the fields of anything in a cluster and of pods to place, by type and name.
var values = map[string]func(*rand.Rand) any{
	"HostPort.Protocol":                           of(api.UDP, api.SCTP),
	"HostPort.HostIP":                             of("127.0.0.1", "10.0.0.1"),
	"LabelSelector.MatchExpressions":              of(requirements("app", "web", "db"), []api.Requirement{{Key: "tier", Operator: api.DoesNotExist}}),
	"PodSpec.NodeAffinity":                        nodeAffinity,
	"NodeSpec.DeclaredFeatures":                   of([]string{"a"}, []string{"a", "b"}),
	"Pod.Readiness":                               of(api.Ready, api.NotReady, api.PhasePending),
	"PodCount.Readiness":                          of(api.Ready, api.NotReady, api.PhasePending),
	"Pod.Unread":                                  of([]api.UnreadField{{Object: "Pod", Field: "spec.volumes", Consequence: "may reject nodes"}}),
	"PodAffinityTerm.MatchLabelKeys":              of([]string{"app"}),
	"PodAffinityTerm.MismatchLabelKeys":           of([]string{"tier"}),
	"PodAffinityTerm.NamespaceSelector":           of(&api.LabelSelector{}, Selects("team", "a")),
	"PodAffinityTerm.Namespaces":                  of([]string{"other"}, []string{"default", "other"}),
	"PodDisruptionBudget.AlwaysAllow":             of(true),
	"PodDisruptionBudget.CurrentHealthy":          of[int32](1, 3),
	"PodDisruptionBudget.DesiredHealthy":          of[int32](1, 2),
	"PodDisruptionBudget.Outdated":                of(true),
	"PodResourceStatus.Allocated":                 of(Resources("cpu", 400)),
	"PodResourceStatus.Actuated":                  of(Resources("cpu", 300)),
	"PodResourceStatus.ResizeInfeasible":          of(true),
	"PodResourceStatus.ResourcesPresent":          of(true),
	"UnclaimedVolumes.EmptyDir":                   of(true),
	"PodSpec.RequiredNodeFeatures":                of([]string{"a"}, []string{"b", "a"}),
	"UnclaimedVolumes.ImageVolumes":               of([]string{"app:v1"}, []string{"data:v1"}),
	"PodSpec.InitContainers":                      initContainers,
	"PodSpec.Overhead":                            of(Resources("cpu", 50), Resources("memory", 64<<20)),
	"PodSpec.Requests":                            of(Resources("cpu", 1200)),
	"PodSpec.SchedulerName":                       of("other"),
	"PodSpec.SchedulingGroup":                     of("group"),
	"PodTemplate.Controller":                      of(api.ControllerReference{Kind: api.ReplicaSet, Name: "web"}, api.ControllerReference{Kind: api.DaemonSet, Name: "agent", Mirror: true}, api.ControllerReference{Kind: api.OtherController, Gone: true}),
	"PodSpec.Tolerations":                         of([]api.Toleration{{Key: "dedicated", Operator: api.TolerationEqual, Value: "x", Effect: api.NoSchedule}}),
	"Toleration.Effect":                           of(api.NoSchedule, api.NoExecute),
	"TopologySpreadConstraint.HonorNodeTaints":    of(true),
	"TopologySpreadConstraint.IgnoreNodeAffinity": of(true),
	"TopologySpreadConstraint.MatchLabelKeys":     of([]string{"app"}),
}

// pendingValues are the fields that only pods to place have.
var pendingValues = map[string]func(*rand.Rand) any{
	"PodSpec.NodeName":        of("n0", "unknown"),
	"PodSpec.SchedulingGates": of([]string{"wait"}),
}

func nodeAffinity(rng *rand.Rand) any {
	a := &api.NodeAffinity{Preferred: []api.PreferredNodeTerm{
		{Weight: 5, Preference: api.NodeSelectorTerm{MatchExpressions: requirements("disk", "ssd")}},
	}}
	if rng.IntN(2) == 0 {
		a.Required = &api.NodeSelector{Terms: []api.NodeSelectorTerm{
			{MatchExpressions: requirements("disk", pick(rng, "ssd", "hdd"))},
			{MatchExpressions: requirements(zoneKey, "a", "b"), MatchFields: requirements("metadata.name", pick(rng, "n0", "n1"))},
		}}
	}
	return a
}

func initContainers(rng *rand.Rand) any {
	return []api.Container{{Name: "init", Requests: Resources("cpu", 100*rng.IntN(9)), Sidecar: rng.IntN(2) == 0}}
}
