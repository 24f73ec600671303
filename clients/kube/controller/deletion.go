package controller

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// DeletionOrder sorts the pods of a ReplicaSet into the order in which its controller deletes them when it is scaled down
// (pkg/controller/controller_utils.go ActivePodsWithRanks, v1.37). related are the pods of all ReplicaSets of its owner, these
// pods included: of equally ready pods, one that shares its node with more of them goes first. now is the time by which pods
// are old. Where the controller takes any of several pods, it is the one with the lowest name.
func DeletionOrder(pods, related []*corev1.Pod, now time.Time) []*corev1.Pod {
	rank := map[string]int{}
	for _, p := range related {
		if IsActive(p) {
			rank[p.Spec.NodeName]++
		}
	}
	return slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Or(
			compareTrue(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			cmp.Compare(phaseRank[a.Status.Phase], phaseRank[b.Status.Phase]),
			compareTrue(isReady(a), isReady(b)),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			cmp.Compare(rank[b.Spec.NodeName], rank[a.Spec.NodeName]),
			compareAge(readyTime(a), readyTime(b), now, a, b),
			compareRestarts(a, b),
			compareAge(a.CreationTimestamp.Time, b.CreationTimestamp.Time, now, a, b),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// IsActive reports whether a pod runs or is to run (pkg/controller/controller_utils.go IsPodActive, v1.37).
func IsActive(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && p.DeletionTimestamp == nil
}

var phaseRank = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// compareTrue orders false before true.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func readyCondition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// isReady reports whether a pod is ready. A running pod without the condition counts as ready.
func isReady(p *corev1.Pod) bool {
	if c := readyCondition(p); c != nil {
		return c.Status == corev1.ConditionTrue
	}
	return p.Status.Phase == corev1.PodRunning
}

// readyTime returns since when a pod is ready, the zero time if it is not or if that is unknown.
func readyTime(p *corev1.Pod) time.Time {
	if c := readyCondition(p); c != nil && isReady(p) {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// deletionCost is the annotation of a pod by which its ReplicaSet prefers to keep it, 0 if it is no number.
func deletionCost(p *corev1.Pod) int32 {
	cost, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// compareAge orders younger before older, by the logarithm of their age. Pods without a time come first. Of two pods of about one
// age the one with the lower uid comes first.
func compareAge(a, b, now time.Time, x, y *corev1.Pod) int {
	switch {
	case a.Equal(b):
		return 0
	case a.IsZero():
		return -1
	case b.IsZero():
		return 1
	}
	return cmp.Or(cmp.Compare(logarithm(now.Sub(a)), logarithm(now.Sub(b))), cmp.Compare(x.UID, y.UID))
}

func logarithm(age time.Duration) int64 {
	if age <= 0 {
		return -1
	}
	return int64(math.Log2(float64(age)))
}

// compareRestarts orders pods with more restarts of their containers before others, then those with more of their sidecars.
func compareRestarts(a, b *corev1.Pod) int {
	regularA, sidecarsA := restarts(a)
	regularB, sidecarsB := restarts(b)
	return cmp.Or(cmp.Compare(regularB, regularA), cmp.Compare(sidecarsB, sidecarsA))
}

func restarts(p *corev1.Pod) (regular, sidecars int32) {
	for i := range p.Status.ContainerStatuses {
		regular = max(regular, p.Status.ContainerStatuses[i].RestartCount)
	}
	always := map[string]bool{}
	for i := range p.Spec.InitContainers {
		policy := p.Spec.InitContainers[i].RestartPolicy
		always[p.Spec.InitContainers[i].Name] = policy != nil && *policy == corev1.ContainerRestartPolicyAlways
	}
	for i := range p.Status.InitContainerStatuses {
		if s := &p.Status.InitContainerStatuses[i]; always[s.Name] {
			sidecars = max(sidecars, s.RestartCount)
		}
	}
	return regular, sidecars
}

// Newest returns the latest time in the metadata and the status of pods, by which the age of the others counts.
func Newest(pods []*corev1.Pod) time.Time {
	var out metav1.Time
	for _, p := range pods {
		times := []metav1.Time{p.CreationTimestamp, {Time: readyTime(p)}}
		if p.Status.StartTime != nil {
			times = append(times, *p.Status.StartTime)
		}
		for _, t := range times {
			if out.Before(&t) {
				out = t
			}
		}
	}
	return out.Time
}

// Ordinal returns the ordinal of a StatefulSet's pod by its name, -1 if the name has none.
func Ordinal(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// NewReplicaSet returns the ReplicaSet of a Deployment that has its template, nil if none has, and whether it has any
// (pkg/controller/deployment/util/deployment_util.go FindNewReplicaSet, v1.37).
func NewReplicaSet(all []*appsv1.ReplicaSet, d *appsv1.Deployment) (found *appsv1.ReplicaSet, added bool) {
	plain := func(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
		out := t.DeepCopy()
		delete(out.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return out
	}
	for _, rs := range all {
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		added = true
		if (found == nil || rs.CreationTimestamp.Before(&found.CreationTimestamp)) &&
			equality.Semantic.DeepEqual(plain(&rs.Spec.Template), plain(&d.Spec.Template)) {
			found = rs
		}
	}
	return found, added
}

// Fenceposts returns the numbers of pods of a rolling update (pkg/controller/deployment/util/deployment_util.go MaxSurge,
// MaxUnavailable and ResolveFenceposts, v1.37). A strategy without numbers has the API server's default, 25%.
func Fenceposts(d *appsv1.Deployment) (surge, unavailable int, err error) {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, 0, nil
	}
	quarter := intstr.FromString("25%")
	most, least := &quarter, &quarter
	if u := d.Spec.Strategy.RollingUpdate; u != nil {
		if u.MaxSurge != nil {
			most = u.MaxSurge
		}
		if u.MaxUnavailable != nil {
			least = u.MaxUnavailable
		}
	}
	replicas := int(Replicas(d.Spec.Replicas))
	if surge, err = intstr.GetScaledValueFromIntOrPercent(most, replicas, true); err != nil {
		return 0, 0, fmt.Errorf("spec.strategy.rollingUpdate.maxSurge: %w", err)
	}
	if unavailable, err = intstr.GetScaledValueFromIntOrPercent(least, replicas, false); err != nil {
		return 0, 0, fmt.Errorf("spec.strategy.rollingUpdate.maxUnavailable: %w", err)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas), nil
}
