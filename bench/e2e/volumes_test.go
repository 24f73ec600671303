package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// The classes: volumes of one are provisioned for the node of a pod, volumes of the other exist.
const (
	diskDriver    = "disk.example.com"
	delayedClass  = "delayed"
	existingClass = "existing"
)

// volumeWorld is a cluster of 4 nodes in 2 zones, to each of which 2 volumes can be attached.
func volumeWorld(t *testing.T, s *stack.Stack) {
	t.Helper()
	deleteAll(t, s)
	ctx, storage := t.Context(), s.Client.StorageV1()
	must(t, controlplane.FakeNodes(ctx, s.Client, 4, 2))
	for i := range 4 {
		_, err := storage.CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i)},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: diskDriver, NodeID: fmt.Sprint(i), Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(2))},
			}}}}, metav1.CreateOptions{})
		must(t, err)
	}
	for name, provisioner := range map[string]string{delayedClass: diskDriver, existingClass: "kubernetes.io/no-provisioner"} {
		_, err := storage.StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name},
			Provisioner: provisioner, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}, metav1.CreateOptions{})
		must(t, err)
	}
}

// claimOf is a claim of a class, for a volume unless that is "".
func claimOf(name, class, volume string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeName: volume, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// createVolume creates a volume of the class for existing volumes, in a zone or, if that is "", for all nodes.
func createVolume(t *testing.T, s *stack.Stack, name, zone string, mode corev1.PersistentVolumeAccessMode) {
	t.Helper()
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: existingClass, AccessModes: []corev1.PersistentVolumeAccessMode{mode},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: diskDriver, VolumeHandle: name}},
	}}
	if zone != "" {
		v.Spec.NodeAffinity = controlplane.InZone(zone)
	}
	_, err := s.Client.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{})
	must(t, err)
}

// bindClaim creates a volume in a zone with a claim that is bound to it.
func bindClaim(t *testing.T, s *stack.Stack, name, zone string, mode corev1.PersistentVolumeAccessMode) {
	t.Helper()
	createVolume(t, s, "v-"+name, zone, mode)
	claims := s.Client.CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Create(t.Context(), claimOf(name, existingClass, "v-"+name, mode), metav1.CreateOptions{})
	must(t, err)
	eventually(t, patience, func() error {
		c, err := claims.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && c.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("claim %s is %s", name, c.Status.Phase)
		}
		return err
	})
}

// createUser creates a pod that uses a claim.
func createUser(t *testing.T, s *stack.Stack, name, claim, schedulerName string) {
	t.Helper()
	p := sized(name, "1", schedulerName)
	p.Name, p.Namespace = name, "default"
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	_, err := s.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	must(t, err)
}

// outcomeOf waits until each of the pods with a prefix is bound or waits with a reason that has a text, and returns the nodes and the
// reasons, sorted.
func outcomeOf(t *testing.T, s *stack.Stack, prefix string, pods int, has string) (out []string) {
	t.Helper()
	eventually(t, patience, func() error {
		out = nil
		list, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			p := &list.Items[i]
			said := condition(p)
			switch {
			case !strings.HasPrefix(p.Name, prefix) || p.DeletionTimestamp != nil:
			case p.Spec.NodeName != "":
				out = append(out, p.Spec.NodeName)
			case said == nil || !strings.Contains(said.Message, has):
				return fmt.Errorf("%s waits with %+v", p.Name, said)
			default:
				out = append(out, said.Reason+": "+reason(said.Message))
			}
		}
		if len(out) != pods {
			return fmt.Errorf("%d of %d pods", len(out), pods)
		}
		return nil
	})
	slices.Sort(out)
	return out
}

// statefulSet creates a StatefulSet of a scheduler's pods on nodes of their own, with a claim for each.
func statefulSet(t *testing.T, s *stack.Stack, class, schedulerName string) {
	t.Helper()
	labels := map[string]string{"app": "db"}
	pod := sized("db", "1", schedulerName)
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	_, err := s.Client.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claimOf("data", class, "", corev1.ReadWriteOnce)},
		},
	}, metav1.CreateOptions{})
	must(t, err)
}

// handOver gives the pods of the StatefulSet that are created from now on to another scheduler, and deletes the ones there are.
func handOver(t *testing.T, s *stack.Stack, schedulerName string, deletes bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"schedulerName":%q}}}}`, schedulerName)
	_, err := s.Client.AppsV1().StatefulSets("default").Patch(t.Context(), "db", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	if deletes {
		eventually(t, patience, func() error {
			set, err := s.Client.AppsV1().StatefulSets("default").Get(t.Context(), "db", metav1.GetOptions{})
			if err == nil && set.Status.ObservedGeneration < set.Generation {
				err = fmt.Errorf("the controller has not seen the template")
			}
			return err
		})
		must(t, s.Client.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=db"}))
	}
}

func cordon(t *testing.T, s *stack.Stack, node string, unschedulable bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, unschedulable)
	_, err := s.Client.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
}

// claimsIntact expects every claim to be bound to a volume of its own.
func claimsIntact(t *testing.T, s *stack.Stack, claims int) {
	t.Helper()
	eventually(t, patience, func() error {
		list, err := s.Client.CoreV1().PersistentVolumeClaims("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != claims {
			return fmt.Errorf("%d of %d claims", len(list.Items), claims)
		}
		by := map[string]string{}
		for _, c := range list.Items {
			if c.Status.Phase != corev1.ClaimBound {
				return fmt.Errorf("claim %s is %s", c.Name, c.Status.Phase)
			}
			v, err := s.Client.CoreV1().PersistentVolumes().Get(t.Context(), c.Spec.VolumeName, metav1.GetOptions{})
			switch {
			case err != nil:
				return err
			case v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != c.UID:
				t.Fatalf("claim %s has the volume %s, which is of %+v", c.Name, v.Name, v.Spec.ClaimRef)
			case by[v.Name] != "":
				t.Fatalf("the claims %s and %s have the volume %s", by[v.Name], c.Name, v.Name)
			}
			by[v.Name] = c.Name
		}
		return nil
	})
}

// TestVolumes takes pods with volumes through every scheduler, and expects of each the nodes and the reasons of plain kube-scheduler:
// StatefulSets with provisioned and with existing volumes, a drain of each node, attach limits, and a ReadWriteOncePod claim. The batch
// scheduler binds no volumes: it gets the pods once kube-scheduler has bound their claims.
func TestVolumes(t *testing.T) {
	compareSchedulers(t, func(t *testing.T, c *stack.Stack, schedulerName string) (out observed) {
		t.Helper()
		for _, class := range []string{delayedClass, existingClass} {
			out.said = append(out.said, drainedStatefulSet(t, c, class, schedulerName)...)
		}
		out.said = append(out.said, limitedPods(t, c, schedulerName)...)
		return out
	})
}

// drainedStatefulSet creates a StatefulSet, drains each node, and makes it schedulable again. It returns what became of the pods.
func drainedStatefulSet(t *testing.T, s *stack.Stack, class, schedulerName string) (out []string) {
	t.Helper()
	volumeWorld(t, s)
	if class == existingClass {
		for i := range 5 {
			createVolume(t, s, fmt.Sprint("v-", i), fmt.Sprintf("zone-%d", i%2), corev1.ReadWriteOnce)
		}
	}
	statefulSet(t, s, class, schedulerName)
	if schedulerName == stack.BatchPods {
		for _, text := range outcomeOf(t, s, "db-", 4, bindsNoVolumes) {
			if !strings.HasPrefix(text, corev1.PodReasonSchedulerError) {
				t.Error(text)
			}
		}
		handOver(t, s, stack.PlainPods, true)
		outcomeOf(t, s, "db-", 4, "never")
		handOver(t, s, schedulerName, true)
	}
	out = append(out, class+": "+strings.Join(outcomeOf(t, s, "db-", 4, "never"), ", "))
	claimsIntact(t, s, 4)
	pods := s.Client.CoreV1().Pods("default")
	for i := range 4 {
		node := fmt.Sprintf("node-%05d", i)
		cordon(t, s, node, true)
		must(t, pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node}))
		out = append(out, node+" drained: "+strings.Join(outcomeOf(t, s, "db-", 4, "were unschedulable"), ", "))
		cordon(t, s, node, false)
		out = append(out, node+" again: "+strings.Join(outcomeOf(t, s, "db-", 4, "never"), ", "))
	}
	claimsIntact(t, s, 4)
	return out
}

// limitedPods creates more pods in a zone than volumes can be attached there, and pods with one ReadWriteOncePod claim. It returns what
// became of them.
func limitedPods(t *testing.T, s *stack.Stack, schedulerName string) (out []string) {
	t.Helper()
	volumeWorld(t, s)
	for i := range 5 {
		bindClaim(t, s, fmt.Sprint("full-", i), "zone-0", corev1.ReadWriteOnce)
	}
	bindClaim(t, s, "sole", "zone-1", corev1.ReadWriteOncePod)
	for i := range 5 {
		createUser(t, s, fmt.Sprint("full-", i), fmt.Sprint("full-", i), schedulerName)
	}
	out = append(out, "limit: "+strings.Join(outcomeOf(t, s, "full-", 5, "exceed max volume count"), ", "))
	cordon(t, s, "node-00003", true)
	createUser(t, s, "sole-0", "sole", schedulerName)
	out = append(out, "sole: "+strings.Join(outcomeOf(t, s, "sole-", 1, "never"), ", "))
	createUser(t, s, "sole-1", "sole", schedulerName)
	out = append(out, "second: "+strings.Join(outcomeOf(t, s, "sole-", 2, "ReadWriteOncePod"), ", "))
	must(t, s.Client.CoreV1().Pods("default").Delete(t.Context(), "sole-0", metav1.DeleteOptions{}))
	out = append(out, "successor: "+strings.Join(outcomeOf(t, s, "sole-", 1, "never"), ", "))
	claimsIntact(t, s, 6)
	return out
}

// killedPods is the number of pods of each class, each with a claim of its own.
const killedPods = 30

// TestVolumesKilled kills schedulers with SIGKILL while they bind pods with claims, and expects that all are bound, and that each claim has
// one volume of its own.
func TestVolumesKilled(t *testing.T) {
	c := start(t)
	for _, s := range schedulers {
		s.start(t, c)
	}
	for _, s := range schedulers[1:] {
		t.Run(s.name, func(t *testing.T) {
			deleteAll(t, c)
			volumeWorld(t, c)
			must(t, c.Client.StorageV1().CSINodes().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})) // no limits
			claims := c.Client.CoreV1().PersistentVolumeClaims("default")
			for i := range killedPods {
				name := fmt.Sprint("existing-", i)
				if s.pods == stack.BatchPods {
					bindClaim(t, c, name, fmt.Sprintf("zone-%d", i%2), corev1.ReadWriteOncePod)
					continue
				}
				createVolume(t, c, "v-"+name, fmt.Sprintf("zone-%d", i%2), corev1.ReadWriteOncePod)
				for _, class := range []string{existingClass, delayedClass} {
					_, err := claims.Create(t.Context(), claimOf(fmt.Sprint(class, "-", i), class, "", corev1.ReadWriteOncePod), metav1.CreateOptions{})
					must(t, err)
				}
			}
			of, err := claims.List(t.Context(), metav1.ListOptions{})
			must(t, err)
			must(t, controlplane.Parallel(t.Context(), len(of.Items), func(_ context.Context, i int) error {
				createUser(t, c, of.Items[i].Name, of.Items[i].Name, s.pods)
				return nil
			}))
			eventually(t, patience, func() error { // in the middle
				pods, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
				if err == nil && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != "" }) {
					err = fmt.Errorf("no pod is bound")
				}
				return err
			})
			s.kill(t, c)
			pods := outcomeOf(t, c, "", len(of.Items), "never")
			claimsIntact(t, c, len(of.Items))
			t.Logf("%d pods are bound", len(pods))
		})
	}
}
