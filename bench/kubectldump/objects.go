package kubectldump

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The proportions.
const (
	replicas   = 10 // of a Deployment
	namespaces = 40
	images     = 50 // of a node
)

// started is when the first object was created.
var started = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(started.Add(time.Duration(seconds) * time.Second))
}

func uid(kind, i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(i*2654435761), kind, i))
}

// hash is five or ten characters, as the names of pods and ReplicaSets end in.
func hash(i, length int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	out := make([]byte, length)
	x := uint64(i)*0x9E3779B97F4A7C15 + 1
	for at := range out {
		x ^= x >> 29
		x *= 0xBF58476D1CE4E5B9
		out[at] = alphabet[(x>>33)%uint64(len(alphabet))]
	}
	return string(out)
}

func meta(kind, i int, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: uid(kind, i), ResourceVersion: fmt.Sprint(100_000_000 + i*37),
		CreationTimestamp: at(i),
	}
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255)
}

func node(i int) *corev1.Node {
	name := nodeName(i)
	zone := fmt.Sprintf("eu-central-1%c", 'a'+i%3)
	n := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta(1, i, "", name)}
	n.Labels = map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: "eu-central-1",
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: "m7i.4xlarge",
		"eks.amazonaws.com/nodegroup": fmt.Sprintf("pool-%d", i%12), "eks.amazonaws.com/capacityType": "ON_DEMAND",
		"karpenter.sh/nodepool": fmt.Sprintf("pool-%d", i%12), "topology.ebs.csi.aws.com/zone": zone,
	}
	n.Annotations = map[string]string{
		"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x"}`, i),
		"node.alpha.kubernetes.io/ttl":                           "0",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true",
	}
	n.Spec.ProviderID = fmt.Sprintf("aws:///%s/i-%017x", zone, i)
	n.Status.Capacity = quantities("16", "65014Mi")
	n.Status.Allocatable = quantities("15890m", "63004Mi")
	for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
		list[corev1.ResourcePods] = resource.MustParse("234")
		list[corev1.ResourceEphemeralStorage] = resource.MustParse("209702892Ki")
	}
	for _, c := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
	} {
		status := corev1.ConditionFalse
		if c == corev1.NodeReady {
			status = corev1.ConditionTrue
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: c, Status: status, Reason: "Kubelet" + string(c), Message: "kubelet has reported " + string(c),
			LastHeartbeatTime: at(i + 900), LastTransitionTime: at(i + 30),
		})
	}
	n.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)},
		{Type: corev1.NodeHostName, Address: name},
	}
	for k := range images {
		repository := fmt.Sprintf("registry.example.com/team-%d/service-%d", k%7, (i*7+k*13)%400)
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names: []string{
				fmt.Sprintf("%s@sha256:%064x", repository, k*31+i%5), fmt.Sprintf("%s:v1.%d.%d", repository, k, i%5),
			},
			SizeBytes: int64(30_000_000 + k*1_234_567),
		})
	}
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: fmt.Sprintf("%032x", i), SystemUUID: string(uid(9, i)), BootID: string(uid(10, i)),
		KernelVersion: "6.12.40-63.114.amzn2023.x86_64", OSImage: "Amazon Linux 2023", KubeletVersion: "v1.37.1",
		ContainerRuntimeVersion: "containerd://2.1.4", OperatingSystem: "linux", Architecture: "amd64",
	}
	return n
}

func app(i int) (namespace, name string) {
	return fmt.Sprintf("team-%02d", i%namespaces), fmt.Sprintf("service-%d", i)
}

func revision(i int) string { return hash(i, 10) }

func labelsOf(i int) map[string]string {
	_, name := app(i)
	return map[string]string{
		"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name + "-prod", "app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version": fmt.Sprintf("1.%d.0", i%30), "team": fmt.Sprint("team-", i%namespaces),
	}
}

func deployment(i int) *appsv1.Deployment {
	namespace, name := app(i)
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta(2, i, namespace, name),
	}
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "3", "meta.helm.sh/release-name": name}
	d.Labels = labelsOf(i)
	d.Spec.Replicas = new(int32(replicas))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": name}}
	d.Spec.Template = template(i)
	d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas, replicas
	return d
}

func replicaSet(i int) *appsv1.ReplicaSet {
	d := deployment(i)
	rs := &appsv1.ReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: meta(3, i, d.Namespace, d.Name+"-"+revision(i)),
	}
	rs.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	rs.Labels = labelsOf(i)
	rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision(i)
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Template: d.Spec.Template, Selector: d.Spec.Selector.DeepCopy()}
	rs.Spec.Selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = revision(i)
	rs.Spec.Template.Labels = rs.Labels
	return rs
}

func template(i int) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(i), Annotations: map[string]string{
		"checksum/config": fmt.Sprintf("%064x", i*7919), "prometheus.io/scrape": "true", "prometheus.io/port": "9090",
	}}}
	t.Spec = corev1.PodSpec{
		Containers: []corev1.Container{container(i)}, RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
		SchedulerName: corev1.DefaultSchedulerName, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
		ServiceAccountName: "default", DeprecatedServiceAccount: "default", TerminationGracePeriodSeconds: new(int64(30)),
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("service-%d", i)}, DefaultMode: new(int32(420)),
		}}}},
		Priority: new(int32(0)), EnableServiceLinks: new(true), PreemptionPolicy: new(corev1.PreemptLowerPriority),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": fmt.Sprintf("service-%d", i)}},
		}},
	}
	return t
}

func container(i int) corev1.Container {
	c := corev1.Container{
		Name: "main", Image: fmt.Sprintf("registry.example.com/team-%d/service-%d:v1.%d.0", i%7, i, i%30),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{
			Requests: quantities(fmt.Sprintf("%dm", 100+i%8*50), "256Mi"), Limits: quantities("2", "1Gi"),
		},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		VolumeMounts:    []corev1.VolumeMount{{Name: "config", MountPath: "/etc/service", ReadOnly: true}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true)},
	}
	c.LivenessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: "/healthz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP,
		}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	c.ReadinessProbe = c.LivenessProbe
	for k := range 8 {
		c.Env = append(c.Env, corev1.EnvVar{
			Name: fmt.Sprintf("SERVICE_SETTING_%d", k), Value: fmt.Sprintf("value of setting %d of service %d", k, i),
		})
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"},
	}})
	return c
}
