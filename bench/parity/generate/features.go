package generate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// requirable are the features that a pod can require when it is scheduled (k8s.io/component-helpers/nodedeclaredfeatures/features, v0.37).
var requirable = []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"}

// declaredFeatures draws the features that a node declares, ascending as the API server demands: requirable ones, others of the registry,
// and one that kube-scheduler does not know.
func (d *draw) declaredFeatures(n *corev1.Node) {
	declared := some(d, pick(d, 0.5, 0.9, 1), requirable...)
	declared = append(declared, some(d, 0.2, "ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "Unknown", "Zebra")...)
	slices.Sort(declared)
	n.Status.DeclaredFeatures = declared
}

// requireFeatures gives the pod fields that require features, or resemble such fields.
func (d *draw) requireFeatures(pod *corev1.Pod, as role) {
	if d.chance(0.4) {
		d.restartRules(pod)
	}
	if d.chance(0.4) {
		pod.Spec.HostUsers = ptr(d.chance(0.2))
		if d.chance(0.7) {
			d.hostNetwork(pod)
		}
	}
	if d.chance(0.4) {
		d.mountOptions(pod, as)
	}
}

func (d *draw) restartRules(pod *corev1.Pod) {
	containers := pod.Spec.Containers
	if len(pod.Spec.InitContainers) > 0 && d.chance(0.5) {
		containers = pod.Spec.InitContainers
	}
	c := &containers[d.IntN(len(containers))]
	if c.RestartPolicy == nil {
		c.RestartPolicy = ptr(pick(d, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure))
	}
	for range d.between(1, 2) {
		c.RestartPolicyRules = append(c.RestartPolicyRules, corev1.ContainerRestartRule{
			Action:    pick(d, corev1.ContainerRestartRuleActionRestartAllContainers, corev1.ContainerRestartRuleActionRestart),
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		})
	}
}

// mountOptions mounts a volume into a container, mostly with options. Only pods that exist have ephemeral containers.
func (d *draw) mountOptions(pod *corev1.Pod, as role) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: "mounted", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	mount := corev1.VolumeMount{Name: "mounted", MountPath: "/mounted"}
	if d.chance(0.8) {
		mount.BindMountOptions = some(d, 0.7, string(corev1.BindMountOptionNoExec), string(corev1.BindMountOptionNoDev), string(corev1.BindMountOptionNoSUID))
	}
	if as == pending && d.chance(0.2) {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debug", Image: "app", VolumeMounts: []corev1.VolumeMount{mount},
		}}}
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{scenario.LongLived: "true"}
		}
		return
	}
	containers := pod.Spec.Containers
	if len(pod.Spec.InitContainers) > 0 && d.chance(0.4) {
		containers = pod.Spec.InitContainers
	}
	c := &containers[d.IntN(len(containers))]
	c.VolumeMounts = append(c.VolumeMounts, mount)
}
