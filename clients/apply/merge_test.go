package apply_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
)

// TestItemsOfSeveralKeys: kubectl's merge identifies spread constraints by topologyKey and ports by containerPort. They have a second key.
func TestItemsOfSeveralKeys(t *testing.T) {
	const (
		hard, soft = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}", "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
		tcp, udp   = "{containerPort: 53, protocol: TCP}", "{containerPort: 53, protocol: UDP}"

		injector = `{manager: injector, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:template": {"f:spec": {` +
			`"f:topologySpreadConstraints": {"k:{\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}": ` +
			`{".": {}, "f:topologyKey": {}, "f:whenUnsatisfiable": {}, "f:maxSkew": {}}}}}}}}`
		annotation = `kubectl.kubernetes.io/last-applied-configuration: '{"spec": {"template": {"spec": {"topologySpreadConstraints": [` +
			`{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}, ` +
			`{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}}}}'`
	)
	spreads := func(all ...string) string { return "topologySpreadConstraints: [" + strings.Join(all, ", ") + "]" }
	ports := func(all ...string) string { return "ports: [" + strings.Join(all, ", ") + "]" }
	for _, c := range []struct {
		name, live, file string
		constraints      []string
		ports, removed   []string
	}{
		{
			name: "the file has the hard constraint", live: workload("env: []", spreads(hard, soft)), file: workload("env: []", spreads(hard)),
			constraints: []string{"1 zone DoNotSchedule"}, removed: []string{"spec.template.spec.topologySpreadConstraints[zone,ScheduleAnyway]"},
		},
		{
			name: "the file has the soft constraint", live: workload("env: []", spreads(hard, soft)), file: workload("env: []", spreads(soft)),
			constraints: []string{"1 zone ScheduleAnyway"}, removed: []string{"spec.template.spec.topologySpreadConstraints[zone,DoNotSchedule]"},
		},
		{
			name: "the file changes one", live: workload("env: []", spreads(hard, soft)),
			file:        workload("env: []", spreads(hard, strings.Replace(soft, "1", "2", 1))),
			constraints: []string{"1 zone DoNotSchedule", "2 zone ScheduleAnyway"},
		},
		{
			name: "the file has another one", live: workload("env: []", spreads(soft)), file: workload("env: []", spreads(hard)),
			constraints: []string{"1 zone DoNotSchedule"}, removed: []string{"spec.template.spec.topologySpreadConstraints[zone]"},
		},
		{
			name: "a partial file adds one", live: workload("env: []", spreads(hard)),
			file:        "{metadata: {name: w}, spec: {template: {spec: {" + spreads(soft) + "}}}}",
			constraints: []string{"1 zone ScheduleAnyway", "1 zone DoNotSchedule"},
		},
		{
			name: "another manager owns one",
			live: strings.Replace(workload("env: []", spreads(hard, soft)), "MANAGERS", "["+helm+", "+injector+"]", 1), file: workload("env: []", spreads(hard)),
			constraints: []string{"1 zone DoNotSchedule", "1 zone ScheduleAnyway"},
		},
		{
			name: "kubectl removes both, as it does in a cluster",
			live: strings.Replace(workload("env: []", spreads(hard, soft)), "MANAGERS", "[], annotations: {"+annotation+"}", 1), file: workload("env: []", spreads(hard)),
			removed: []string{"spec.template.spec.topologySpreadConstraints"},
		},
		{
			name: "the file has a port of UDP", live: workload(ports(tcp, udp)), file: workload(ports(udp)),
			ports: []string{"53 UDP"}, removed: []string{"spec.template.spec.containers[c].ports[53,TCP]"},
		},
		{
			name: "the file has a port of the default protocol", live: workload(ports(tcp, udp)), file: workload(ports("{containerPort: 53}")),
			ports: []string{"53 TCP"}, removed: []string{"spec.template.spec.containers[c].ports[53,UDP]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := applied(t, "Deployment", c.live, c.file, nil)
			spec := got.Object.(*appsv1.Deployment).Spec.Template.Spec
			var constraints, ports []string
			for _, s := range spec.TopologySpreadConstraints {
				constraints = append(constraints, fmt.Sprint(s.MaxSkew, " ", s.TopologyKey, " ", s.WhenUnsatisfiable))
			}
			for _, p := range spec.Containers[0].Ports {
				ports = append(ports, fmt.Sprint(p.ContainerPort, " ", p.Protocol))
			}
			for what, pair := range map[string][2][]string{
				"constraints": {c.constraints, constraints}, "ports": {c.ports, ports}, "removed": {c.removed, got.Removed},
			} {
				if diff := gocmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s (-want +got)\n%s", what, diff)
				}
			}
		})
	}
}
