package deploytest

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pod checks the references of a pod, its probes, and the restricted profile of the pod security standards.
func (s *set) pod(o Object, template *corev1.PodTemplateSpec) {
	pod := &template.Spec
	s.refers(o, "ServiceAccount", pod.ServiceAccountName)
	for _, secret := range pod.ImagePullSecrets {
		s.refers(o, "Secret", secret.Name)
	}
	volumes := map[string]bool{} // by name, true if mounted
	for _, v := range pod.Volumes {
		volumes[v.Name] = false
		switch {
		case v.ConfigMap != nil:
			s.refers(o, "ConfigMap", v.ConfigMap.Name)
		case v.Secret != nil:
			s.refers(o, "Secret", v.Secret.SecretName)
		}
	}
	for _, c := range containers(pod) {
		for _, m := range c.VolumeMounts {
			if _, ok := volumes[m.Name]; !ok {
				s.report(o, "container %s mounts the volume %s, which the pod does not have", c.Name, m.Name)
			}
			volumes[m.Name] = true
		}
		s.files(o, &c)
		s.probes(o, &c)
	}
	for name, mounted := range volumes {
		if !mounted {
			s.report(o, "no container mounts the volume %s", name)
		}
	}
	s.restricted(o, pod)
}

// files checks that flags name files in mounted volumes.
func (s *set) files(o Object, c *corev1.Container) {
	for _, arg := range append(c.Command, c.Args...) {
		flag, path, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(path, "/") {
			continue
		}
		mounted := false
		for _, m := range c.VolumeMounts {
			mounted = mounted || path == m.MountPath || strings.HasPrefix(path, m.MountPath+"/")
		}
		if !mounted {
			s.report(o, "container %s: nothing is mounted for %s=%s", c.Name, flag, path)
		}
	}
}

func (s *set) probes(o Object, c *corev1.Container) {
	if c.ReadinessProbe == nil || c.LivenessProbe == nil {
		s.report(o, "container %s lacks a liveness or a readiness probe", c.Name)
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe == nil {
			continue
		}
		own := false
		for _, p := range c.Ports {
			own = own || probe.HTTPGet != nil && p.Name == probe.HTTPGet.Port.StrVal
		}
		if !own {
			s.report(o, "container %s: a probe uses an unknown port", c.Name)
		}
	}
}

func (s *set) restricted(o Object, pod *corev1.PodSpec) {
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		s.report(o, "is in a namespace of the host")
	}
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		s.report(o, "has variables of other Services, which may look like settings")
	}
	if c := pod.SecurityContext; c == nil || c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.RunAsUser != nil && *c.RunAsUser == 0 {
		s.report(o, "may run as root")
	}
	if c := pod.SecurityContext; c == nil || c.SeccompProfile == nil ||
		c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		s.report(o, "has no seccomp profile")
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil && v.Projected == nil {
			s.report(o, "volume %s has an unexpected kind", v.Name)
		}
	}
	for _, c := range containers(pod) {
		security := c.SecurityContext
		if security == nil || security.AllowPrivilegeEscalation == nil || *security.AllowPrivilegeEscalation {
			s.report(o, "container %s may gain privileges", c.Name)
			continue
		}
		if security.ReadOnlyRootFilesystem == nil || !*security.ReadOnlyRootFilesystem {
			s.report(o, "container %s may write to its image", c.Name)
		}
		if d := security.Capabilities; d == nil || len(d.Add) > 0 || len(d.Drop) != 1 || d.Drop[0] != "ALL" {
			s.report(o, "container %s keeps capabilities", c.Name)
		}
	}
}
