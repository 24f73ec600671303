package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A new claim is bound as the controller of volumes binds it before a pod is placed. Claims that are bound at once, or that several nodes can
// use, are templates of their pods.
func TestNewClaims(t *testing.T) {
	const (
		claim  = `{metadata: {name: c}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}`
		named  = `{metadata: {name: c}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], volumeName: v, resources: {requests: {storage: 2Gi}}}}`
		volume = `{metadata: {name: v}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}}`

		bound, waits, template = `v true`, ` false`, `template`
		unbound                = `v false`
	)
	for name, test := range map[string]struct{ claim, volume, want string }{
		"waits for its pod":           {claim, volume, waits},
		"names a volume":              {named, volume, bound},
		"names a volume of the claim": {named, `{metadata: {name: v}, spec: {capacity: {storage: 1}, claimRef: {name: c}}}`, bound},
		"names a volume of another":   {named, `{metadata: {name: v}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, claimRef: {namespace: n, name: c}}}`, unbound},
		"names a released volume":     {named, `{metadata: {name: v}, spec: {capacity: {storage: 2Gi}, claimRef: {namespace: default, name: c, uid: old}}, status: {phase: Released}}`, unbound},
		"names a smaller volume":      {named, `{metadata: {name: v}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}}}`, unbound},
		"names a volume of a class":   {named, `{metadata: {name: v}, spec: {storageClassName: t, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}}`, unbound},
		"names a volume of a mode":    {named, `{metadata: {name: v}, spec: {storageClassName: s, accessModes: [ReadOnlyMany], capacity: {storage: 2Gi}}}`, unbound},
		"names a block device":        {named, `{metadata: {name: v}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}, volumeMode: Block}}`, unbound},
		"names no volume":             {named, `{metadata: {name: w}, spec: {storageClassName: s, accessModes: [ReadWriteOnce], capacity: {storage: 2Gi}}}`, unbound},
		"is named":                    {claim, `{metadata: {name: v}, spec: {capacity: {storage: 2Gi}, claimRef: {namespace: default, name: c}}}`, bound},
		"is named by a bound one":     {claim, `{metadata: {name: v}, spec: {capacity: {storage: 2Gi}, claimRef: {namespace: default, name: c, uid: u}}, status: {phase: Bound}}`, bound},
		"is named by a released one":  {claim, `{metadata: {name: v}, spec: {capacity: {storage: 2Gi}, claimRef: {namespace: default, name: c, uid: old}}, status: {phase: Released}}`, waits},
		"is named by a smaller one":   {claim, `{metadata: {name: v}, spec: {capacity: {storage: 1Gi}, claimRef: {namespace: default, name: c}}}`, waits},
		"without a class":             {`{metadata: {name: c}, spec: {storageClassName: "", accessModes: [ReadWriteOnce]}}`, volume, template},
		"of many nodes":               {`{metadata: {name: c}, spec: {storageClassName: s, accessModes: [ReadOnlyMany]}}`, volume, template},
		"of a node": {
			`{metadata: {name: c, annotations: {volume.kubernetes.io/selected-node: a}}, spec: {storageClassName: s, accessModes: [ReadWriteMany]}}`, volume, waits,
		},
		"of a cluster": {`{metadata: {name: c, uid: u}, spec: {storageClassName: s, accessModes: [ReadWriteMany], volumeName: v}}`, volume, unbound},
	} {
		t.Run(name, func(t *testing.T) {
			b := kube.NewBuilder(kube.Options{})
			must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: s}, provisioner: p, volumeBindingMode: WaitForFirstConsumer}`)))
			must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, test.claim)))
			must(t, b.AddPersistentVolume(parse[corev1.PersistentVolume](t, test.volume)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p}, spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: c}}]}}`)))
			s := build(t, b)
			got := "template"
			if compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes[0].GetPersistentVolumeClaim().ClaimTemplate == nil {
				c := s.Cluster.PersistentVolumeClaims[0]
				got = c.VolumeName + map[bool]string{true: " true", false: " false"}[c.BindCompleted]
			}
			diff(t, test.want, got)
			if len(s.Unread)+len(s.AssumedClasses) > 0 {
				t.Error(told(s.Unread), s.AssumedClasses)
			}
		})
	}
}

// A claim that is lost or being deleted rejects its pods, wherever its volume is.
func TestClaimsWithoutVolumesThatReject(t *testing.T) {
	for name, claim := range map[string]string{
		"lost":        `{metadata: {name: c, uid: u}, spec: {volumeName: v}, status: {phase: Lost}}`,
		"terminating": `{metadata: {name: c, uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {volumeName: v}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := kube.NewBuilder(kube.Options{})
			must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, claim)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p, uid: u}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`)))
			s := build(t, b)
			diff(t, 0, len(s.Unread))
			diff(t, 1, len(compact.Template(s.Cluster, s.Queue[0].Pods.Pod).Spec.Volumes))
		})
	}
}

// The volumes of pods on nodes count against limits: without the claims of these pods, a pod with a claim has a doubt.
func TestClaimsOfPodsOnNodesThatWereNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		limit, claim string
		want         []string
	}{
		"limited": {`{count: 2}`, "", []string{
			"Pod default/run spec.volumes[0].persistentVolumeClaim", "Pod default/p spec.volumes[0].persistentVolumeClaim",
		}},
		"read":     {`{count: 2}`, `{metadata: {name: of-run, uid: u}, spec: {storageClassName: s}}`, nil},
		"no limit": {`{}`, "", []string{"Pod default/run spec.volumes[0].persistentVolumeClaim"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := kube.NewBuilder(kube.Options{})
			must(t, b.AddNode(parse[corev1.Node](t, `{metadata: {name: a}}`)))
			must(t, b.AddCSINode(parse[storagev1.CSINode](t, `{metadata: {name: a}, spec: {drivers: [{name: d, allocatable: `+test.limit+`}]}}`)))
			must(t, b.AddStorageClass(parse[storagev1.StorageClass](t, `{metadata: {name: s, uid: s}, provisioner: d, volumeBindingMode: WaitForFirstConsumer}`)))
			must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, `{metadata: {name: c, uid: c}, spec: {storageClassName: s}}`)))
			if test.claim != "" {
				must(t, b.AddPersistentVolumeClaim(parse[corev1.PersistentVolumeClaim](t, test.claim)))
			}
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: run, uid: r}, spec: {nodeName: a, volumes: [{name: v, persistentVolumeClaim: {claimName: of-run}}]}}`)))
			must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p, uid: p}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}`)))
			s := build(t, b)
			var got []string
			for _, list := range [][]*stowagev1.UnreadField{s.Cluster.Nodes[0].Pods[0].Unread, s.Queue[0].Pods.Pod.Unread} {
				got = append(got, told(list)...)
			}
			diff(t, test.want, got)
		})
	}
}
