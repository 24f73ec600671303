package kube_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// expect compares a message with its JSON.
func expect[M proto.Message](t *testing.T, want string, got M) {
	t.Helper()
	as := got.ProtoReflect().New().Interface().(M)
	if err := protojson.Unmarshal([]byte(want), as); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(as, got) {
		t.Errorf("got %v\nwant %v", got, as)
	}
}

func TestStorageObjects(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: b}}`)))
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `
metadata: {name: old}
provisioner: kubernetes.io/gce-pd
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [z1, z2]}]}]`)))
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: file, uid: u}, provisioner: kubernetes.io/azure-file, volumeBindingMode: WaitForFirstConsumer}`)))
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: modeless, uid: v}, provisioner: p}`)))
	must(t, b.AddCSIDriver(parse[storagev1.CSIDriver](t, `{metadata: {name: d}, spec: {storageCapacity: true}}`)))
	must(t, b.AddCSIStorageCapacity(parse[storagev1.CSIStorageCapacity](t, `{metadata: {name: c, namespace: ns}, storageClassName: old, capacity: 1500m, nodeTopology: {matchLabels: {zone: z1}}}`)))
	must(t, b.AddCSINode(parse[storagev1.CSINode](t, `
metadata: {name: a, annotations: {storage.alpha.kubernetes.io/migrated-plugins: "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}}
spec: {drivers: [{name: e, nodeID: i}, {name: d, nodeID: i, allocatable: {count: 5}}]}`)))
	must(t, b.AddCSINode(parse[storagev1.CSINode](t, `{metadata: {name: unknown}, spec: {drivers: []}}`)))
	must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `
metadata: {name: csi, uid: u, labels: {l: v}, annotations: {volume.beta.kubernetes.io/storage-class: beta}}
spec:
  storageClassName: old
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  volumeMode: Block
  volumeAttributesClassName: gold
  claimRef: {namespace: ns, name: data, uid: c}
  csi: {driver: d, volumeHandle: h}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [z1]}]}]}}
status: {phase: Bound}`)))
	must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `
metadata: {name: disk, labels: {topology.kubernetes.io/zone: z1}}
spec: {capacity: {storage: 1}, gcePersistentDisk: {pdName: pd}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z1]}]}]}}}`)))
	must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `{metadata: {name: share}, spec: {capacity: {storage: 1}, azureFile: {shareName: s, secretName: x}}}`)))
	for _, text := range []string{
		`{metadata: {name: x}, spec: {attacher: d, nodeName: a, source: {persistentVolumeName: csi}}}`,
		`{metadata: {name: again}, spec: {attacher: d, nodeName: a, source: {persistentVolumeName: csi}}}`,
		`{metadata: {name: in-tree}, spec: {attacher: d, nodeName: a, source: {persistentVolumeName: disk}}}`,
		`{metadata: {name: gone}, spec: {attacher: d, nodeName: a, source: {persistentVolumeName: gone}}}`,
		`{metadata: {name: inline}, spec: {attacher: d, nodeName: a, source: {}}}`,
	} {
		must(t, b.AddVolumeAttachment(parse[storagev1.VolumeAttachment](t, text)))
	}
	s := build(t, b)
	c := s.Cluster
	expect(t, `{"name": "old", "provisioner": "kubernetes.io/gce-pd", "volumeBindingMode": "VOLUME_BINDING_MODE_IMMEDIATE", "csiDriver": "pd.csi.storage.gke.io",
"allowedTopologies": {"terms": [{"matchExpressions": [{"key": "zone", "operator": "NODE_SELECTOR_OPERATOR_IN", "values": ["z1", "z2"]}]}]}}`, c.StorageClasses[0])
	expect(t, `{"name": "file", "provisioner": "kubernetes.io/azure-file", "volumeBindingMode": "VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER"}`, c.StorageClasses[1])
	expect(t, `{"name": "modeless", "provisioner": "p"}`, c.StorageClasses[2])
	expect(t, `{"name": "d", "storageCapacity": true}`, c.CsiDrivers[0])
	expect(t, `{"namespace": "ns", "name": "c", "storageClassName": "old", "capacity": "2", "nodeTopology": {"matchLabels": {"zone": "z1"}}}`, c.CsiStorageCapacities[0])
	expect(t, `{"name": "csi", "labels": {"l": "v"}, "storageClassName": "beta", "capacity": "1073741824", "accessModes": {"readWriteOnce": true, "readOnlyMany": true},
"volumeMode": "VOLUME_MODE_BLOCK", "volumeAttributesClassName": "gold", "claim": {"namespace": "ns", "name": "data", "uid": "c"}, "csiDriver": "d", "volumeHandle": "h",
"nodeAffinity": {"terms": [{"matchExpressions": [{"key": "zone", "operator": "NODE_SELECTOR_OPERATOR_IN", "values": ["z1"]}]}]}}`, c.PersistentVolumes[0])
	expect(t, `{"name": "disk", "labels": {"topology.kubernetes.io/zone": "z1"}, "capacity": "1", "volumeMode": "VOLUME_MODE_FILESYSTEM", "available": true,
"csiDriver": "pd.csi.storage.gke.io", "volumeHandle": "projects/UNSPECIFIED/zones/z1/disks/pd", "inTreePlugin": "kubernetes.io/gce-pd",
"nodeAffinity": {"terms": [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "NODE_SELECTOR_OPERATOR_IN", "values": ["z1"]}]}]},
"migratedNodeAffinity": {"terms": [{"matchExpressions": [{"key": "topology.gke.io/zone", "operator": "NODE_SELECTOR_OPERATOR_IN", "values": ["z1"]}]}]}}`, c.PersistentVolumes[1])
	expect(t, `{"name": "share", "capacity": "1", "volumeMode": "VOLUME_MODE_FILESYSTEM", "available": true}`, c.PersistentVolumes[2])
	n, err := compact.WholeNode(c, c.Nodes[0])
	must(t, err)
	expect(t, `{"drivers": [{"name": "d", "allocatableCount": 5}, {"name": "e"}], "migratedPlugins": ["kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"]}`, n.CsiNode)
	diff(t, []string{"csi"}, n.AttachedVolumes)
	if n, err := compact.WholeNode(c, c.Nodes[1]); err != nil || n.CsiNode != nil {
		t.Errorf("node b has %v, %v", n.CsiNode, err)
	}
}

func TestClaims(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	for _, text := range []string{
		`{metadata: {name: slow, uid: a, creationTimestamp: "2026-01-01T00:00:00Z", annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: p, volumeBindingMode: Immediate}`,
		`{metadata: {name: newest, uid: b, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {storageclass.beta.kubernetes.io/is-default-class: "true"}}, provisioner: p, volumeBindingMode: WaitForFirstConsumer}`,
	} {
		must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, text)))
	}
	claim := func(text string) { must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, text))) }
	claim(`{metadata: {name: bound, namespace: ns, uid: u, annotations: {pv.kubernetes.io/bind-completed: "yes", volume.kubernetes.io/selected-node: a}}, spec: {storageClassName: slow, volumeName: v}, status: {phase: Lost}}`)
	claim(`{metadata: {name: without-class, uid: w}, spec: {resources: {requests: {storage: 1500m}}, accessModes: [ReadWriteOncePod]}}`)
	claim(`{metadata: {name: defaulted}, spec: {selector: {matchLabels: {a: b}}}}`)
	claim(`{metadata: {name: at-once}, spec: {storageClassName: slow, accessModes: [ReadWriteMany]}}`)
	claim(`{metadata: {name: pod-e, uid: e, ownerReferences: [{apiVersion: v1, kind: Pod, name: pod, uid: p, controller: true}]}, spec: {storageClassName: newest}}`)
	claim(`{metadata: {name: pod-f, uid: f, ownerReferences: [{apiVersion: v1, kind: Pod, name: pod, uid: another, controller: true}]}, spec: {storageClassName: newest}}`)
	claim(`{metadata: {name: absent-e, uid: g, ownerReferences: [{apiVersion: v1, kind: Pod, name: absent, uid: x, controller: true}]}, spec: {storageClassName: newest}}`)
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: pod, uid: p}, spec: {volumes: [{name: e, ephemeral: {}}, {name: x, persistentVolumeClaim: {claimName: at-once}}]}}`)))
	s := build(t, b)
	var got []string
	for _, c := range s.Cluster.PersistentVolumeClaims {
		got = append(got, c.Name+" "+c.Spec.StorageClassName+" "+c.ControllerPod)
	}
	diff(t, []string{"bound slow ", "without-class  ", "defaulted newest ", "pod-e newest pod", "pod-f newest ", "absent-e newest absent"}, got)
	expect(t, `{"namespace": "ns", "name": "bound", "uid": "u", "spec": {"storageClassName": "slow", "volumeMode": "VOLUME_MODE_FILESYSTEM"}, "volumeName": "v",
"bindCompleted": true, "selectedNode": "a", "lost": true}`, s.Cluster.PersistentVolumeClaims[0])
	expect(t, `{"volumeMode": "VOLUME_MODE_FILESYSTEM", "storageRequest": "2", "accessModes": {"readWriteOncePod": true}}`, s.Cluster.PersistentVolumeClaims[1].Spec)
	spec := compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec
	expect(t, `{"ephemeral": {"volumeName": "e"}}`, spec.Volumes[0])
	expect(t, `{"persistentVolumeClaim": {"claimName": "at-once", "claimTemplate": {"storageClassName": "slow", "volumeMode": "VOLUME_MODE_FILESYSTEM", "accessModes": {"readWriteMany": true}}}}`, spec.Volumes[1])
	if len(s.Unread)+len(s.AssumedClasses)+len(s.AssumedClaims) > 0 {
		t.Error(s.Unread, s.Assumptions)
	}
}

// The pods of a StatefulSet share a template, whether they exist or not. Pods whose names are not known have none if their claims have it.
func TestPodsWithClaimsShareTemplates(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: s, uid: s}, provisioner: p}`)))
	for _, name := range []string{"web-0", "web-1"} {
		must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, `{metadata: {name: data-`+name+`, uid: u}, spec: {storageClassName: s}}`)))
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: `+name+`, uid: p}, spec: {nodeName: a, volumes: [{name: data, persistentVolumeClaim: {claimName: data-`+name+`}}]}}`)))
	}
	must(t, b.AddStatefulSet(parse[appsv1.StatefulSet](t, `
metadata: {name: db}
spec:
  replicas: 2
  selector: {}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: s}}]
  template: {spec: {}}`)))
	must(t, b.AddDeployment(parse[appsv1.Deployment](t, `
metadata: {name: job}
spec: {replicas: 2, selector: {}, template: {spec: {volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: s}}}}]}}}`)))
	s := build(t, b)
	on := s.Cluster.Nodes[0].Pods
	diff(t, on[0].GetTemplateIndex(), on[1].GetTemplateIndex())
	expect(t, `{"persistentVolumeClaim": {"claimName": "data", "ofPod": true}}`, compact.Template(s.Cluster, on[0]).Spec.Volumes[0])
	template := `"claimTemplate": {"storageClassName": "s", "volumeMode": "VOLUME_MODE_FILESYSTEM"}`
	var names []string
	for _, e := range s.Queue {
		names = append(names, e.Pods.Pod.Name)
		volume := compact.Template(s.Cluster, e.Pods.Pod).Spec.Volumes[0]
		if e.Origin.Kind == "Deployment" {
			expect(t, `{"ephemeral": {"volumeName": "tmp", `+template+`}}`, volume)
		} else {
			expect(t, `{"persistentVolumeClaim": {"claimName": "data", "ofPod": true, `+template+`}}`, volume)
		}
	}
	slices.Sort(names)
	diff(t, []string{"", "db-0", "db-1"}, names)
}

func TestDisks(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddPod(parse[corev1.Pod](t, `
metadata: {name: p, uid: u}
spec:
  volumes:
  - {name: a, gcePersistentDisk: {pdName: pd, readOnly: true}}
  - {name: b, awsElasticBlockStore: {volumeID: vol-1}}
  - {name: c, iscsi: {iqn: iqn.x, readOnly: true}}
  - {name: d, rbd: {monitors: [m1, m2], image: i}}
  - {name: e, azureDisk: {diskName: d, diskURI: /subscriptions/x}}
  - {name: f, cinder: {volumeID: v}}
  - {name: g, azureFile: {shareName: s, secretName: x}}
  - {name: h, vsphereVolume: {volumePath: v}}`)))
	s := build(t, b)
	volumes := compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes
	want := []string{
		`{"disk": {"kind": "DISK_KIND_GCE_PERSISTENT_DISK", "id": "pd", "readOnly": true, "csiDriver": "pd.csi.storage.gke.io", "volumeHandle": "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd"}}`,
		`{"disk": {"kind": "DISK_KIND_AWS_ELASTIC_BLOCK_STORE", "id": "vol-1", "csiDriver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}`,
		`{"disk": {"kind": "DISK_KIND_ISCSI", "id": "iqn.x", "readOnly": true}}`,
		`{"disk": {"kind": "DISK_KIND_RBD", "id": "rbd/i", "monitors": ["m1", "m2"]}}`,
		`{"disk": {"csiDriver": "disk.csi.azure.com", "volumeHandle": "/subscriptions/x"}}`,
		`{"disk": {"csiDriver": "cinder.csi.openstack.org", "volumeHandle": "v"}}`,
	}
	diff(t, len(want), len(volumes))
	for i, v := range volumes {
		expect(t, want[i], v)
	}
	if len(s.Unread) > 0 {
		t.Error(told(s.Unread))
	}
}

// Claims of a pod of a cluster are unread without any claim, and bound ones without any volume.
func TestClaimsThatWereNotRead(t *testing.T) {
	for _, more := range []bool{false, true} {
		b := kube.NewBuilder(kube.Options{})
		must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
		if more {
			must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, `{metadata: {name: c, uid: u}, spec: {volumeName: v}}`)))
		}
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`)))
		s := build(t, b)
		diff(t, []string{"Pod default/p spec.volumes[0].persistentVolumeClaim"}, told(s.Unread))
		diff(t, 0, len(compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes))
	}
}

// A claim that waits for a node whose name is empty is unread: kube-scheduler takes no node for its pods.
func TestClaimOfNoNode(t *testing.T) {
	for claim, unread := range map[string]int{
		`{metadata: {name: c, uid: u, annotations: {volume.kubernetes.io/selected-node: ""}}, spec: {storageClassName: late}}`:                1,
		`{metadata: {name: c, uid: u, annotations: {volume.kubernetes.io/selected-node: "a"}}, spec: {storageClassName: late}}`:               0,
		`{metadata: {name: c, uid: u}, spec: {storageClassName: late}}`:                                                                       0,
		`{metadata: {name: c, uid: u, annotations: {volume.kubernetes.io/selected-node: ""}}, spec: {storageClassName: hasty}}`:               0,
		`{metadata: {name: c, uid: u, annotations: {volume.kubernetes.io/selected-node: ""}}, spec: {storageClassName: late, volumeName: v}}`: 0,
	} {
		b := kube.NewBuilder(kube.Options{})
		must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
		must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `{metadata: {name: v, uid: v}, spec: {capacity: {storage: 1}, hostPath: {path: /v}}}`)))
		must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: late, uid: l}, provisioner: p, volumeBindingMode: WaitForFirstConsumer}`)))
		must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: hasty, uid: h}, provisioner: p, volumeBindingMode: Immediate}`)))
		must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, claim)))
		must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`)))
		s := build(t, b)
		if len(s.Unread) != unread || len(compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes) != 1-unread {
			t.Errorf("%s: unread is %v", claim, told(s.Unread))
		}
	}
}

// With all storage objects of a cluster added, none is assumed, no field is unread, and kube-scheduler's verdict about missing ones counts.
func TestWholeStorage(t *testing.T) {
	missing := `{"persistentVolumeClaim": {"claimName": "c"}}`
	for name, test := range map[string]struct {
		claim, pod string
		want       string
	}{
		"no claim":              {"", `{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`, missing},
		"no claim of a new pod": {"", `{metadata: {name: p}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`, missing},
		"no volume": {
			`{metadata: {name: c, uid: u}, spec: {storageClassName: gone, volumeName: v}}`,
			`{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`, missing,
		},
		"no class": {
			`{metadata: {name: c}, spec: {storageClassName: gone}}`,
			`{metadata: {name: p}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`, missing,
		},
		"no default class": {
			"", `{metadata: {name: p}, spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}`,
			`{"ephemeral": {"volumeName": "v", "claimTemplate": {"volumeMode": "VOLUME_MODE_FILESYSTEM"}}}`,
		},
		"no claim of an ephemeral volume": {
			"", `{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}`,
			`{"ephemeral": {"volumeName": "v"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := kube.NewBuilder(kube.Options{WholeStorage: true})
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
			if test.claim != "" {
				must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, test.claim)))
			}
			must(t, b.AddPod(parse[corev1.Pod](t, test.pod)))
			s := build(t, b)
			expect(t, test.want, compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes[0])
			if len(s.Unread)+len(s.AssumedClasses)+len(s.AssumedClaims)+len(s.Cluster.StorageClasses) > 0 {
				t.Error(told(s.Unread), s.Assumptions, s.Cluster.StorageClasses)
			}
		})
	}
}

// The server may refuse each storage object, which is left out and named.
func TestStorageObjectsAreRefused(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
	b.From("class.yaml")
	must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: s, uid: s}, provisioner: p}`)))
	b.From("driver.yaml")
	must(t, b.AddCSIDriver(parse[storagev1.CSIDriver](t, `{metadata: {name: d}}`)))
	b.From("capacity.yaml")
	must(t, b.AddCSIStorageCapacity(parse[storagev1.CSIStorageCapacity](t, `{metadata: {name: c}, storageClassName: s}`)))
	b.From("volume.yaml")
	must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, `{metadata: {name: v}}`)))
	b.From("claim.yaml")
	must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, `{metadata: {name: c, uid: c}, spec: {storageClassName: s}}`)))
	s := build(t, b)
	var violations []kube.Violation
	for _, field := range []string{
		"storage_classes[0].name", "csi_drivers[0].storage_capacity", "csi_storage_capacities[0].capacity", "persistent_volumes[0].claim.name",
		"persistent_volume_claims[0].spec.storage_request",
	} {
		violations = append(violations, kube.Violation{Field: "context.cluster." + field, Description: "wrong"})
	}
	if !s.Refuse(violations) {
		t.Fatal("nothing was refused")
	}
	var got []string
	for _, m := range s.Misreads {
		got = append(got, m.Error())
	}
	diff(t, []string{
		"class.yaml: metadata.name: wrong", "driver.yaml: spec.storageCapacity: wrong", "capacity.yaml: capacity: wrong",
		"volume.yaml: spec.claimRef.name: wrong", "claim.yaml: spec.resources.requests[storage]: wrong",
	}, got)
	left := &stowagev1.Cluster{Nodes: s.Cluster.Nodes, NodeClasses: s.Cluster.NodeClasses, PodTemplates: s.Cluster.PodTemplates, Namespaces: s.Cluster.Namespaces}
	if !proto.Equal(left, s.Cluster) {
		t.Error(s.Cluster)
	}
}
