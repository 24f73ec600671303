package kubectldump

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod returns a pod. Pods of a Deployment follow one another, and are on different nodes.
func pod(i, nodes int) *corev1.Pod {
	of := i / replicas
	namespace, name := app(of)
	owner := name + "-" + revision(of)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta(4, i, namespace, owner+"-"+hash(i, 5)),
	}
	t := template(of)
	p.GenerateName, p.Labels, p.Annotations, p.Spec = owner+"-", t.Labels, t.Annotations, t.Spec
	p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision(of)
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: uid(3, of), Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	p.Spec.NodeName = nodeName(i % nodes)
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
		})
	}
	withToken(p, "kube-api-access-"+hash(i*3+1, 5))
	p.Status = podStatus(p, i)
	return p
}

// withToken adds what the ServiceAccount admission plugin adds: a volume whose name differs from pod to pod.
func withToken(p *corev1.Pod, volume string) {
	projected := &corev1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
		}}}},
	}}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Projected: projected}})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
		Name: volume, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true,
	})
}

func podStatus(p *corev1.Pod, i int) corev1.PodStatus {
	begun := at(i + 2)
	ip := fmt.Sprintf("10.%d.%d.%d", 64+(i>>16), i>>8&255, i&255)
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.0.1", HostIPs: []corev1.HostIP{{IP: "10.0.0.1"}},
		PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, QOSClass: corev1.PodQOSBurstable, StartTime: &begun,
	}
	for k, c := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at(i + k)})
	}
	c := p.Spec.Containers[0]
	status := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: fmt.Sprintf("registry.example.com/service@sha256:%064x", i/replicas),
		ContainerID: fmt.Sprintf("containerd://%064x", i), Ready: true, Started: new(true),
		State:              corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(i + 8)}},
		AllocatedResources: c.Resources.Requests,
		Resources:          &corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits},
	}
	for _, m := range c.VolumeMounts {
		status.VolumeMounts = append(status.VolumeMounts, corev1.VolumeMountStatus{
			Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly, RecursiveReadOnly: new(corev1.RecursiveReadOnlyDisabled),
		})
	}
	s.ContainerStatuses = []corev1.ContainerStatus{status}
	return s
}
