package deploytest

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// set is objects that are applied together.
type set struct {
	objects  []Object
	given    []string
	problems []string
}

// Problems lists contradictions among objects that are applied together. given are names of other existing objects, such as
// "Secret/registry".
func Problems(objects []Object, given ...string) []string {
	s := &set{objects: objects, given: given}
	names := map[string]bool{}
	for _, o := range objects {
		name := fmt.Sprintf("%s/%s/%s", kind(o), o.GetNamespace(), o.GetName())
		if names[name] {
			s.report(o, "is a duplicate")
		}
		names[name] = true
		if o.GetLabels()["app.kubernetes.io/part-of"] != "stowage" {
			s.report(o, "is not labelled as part of stowage")
		}
		s.check(o)
	}
	return s.problems
}

func (s *set) check(o Object) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		s.pod(o, &o.Spec.Template)
		s.selects(o, o.Spec.Selector)
		for _, c := range o.Spec.Template.Spec.TopologySpreadConstraints {
			s.selects(o, c.LabelSelector)
		}
	case *corev1.Service:
		pods := s.selects(o, &metav1.LabelSelector{MatchLabels: o.Spec.Selector})
		for _, p := range o.Spec.Ports {
			s.port(o, pods, p.TargetPort, p.Port)
		}
	case *policyv1.PodDisruptionBudget:
		s.selects(o, o.Spec.Selector)
	case *networkingv1.NetworkPolicy:
		pods := s.selects(o, &o.Spec.PodSelector)
		for _, rule := range o.Spec.Ingress {
			for _, p := range rule.Ports {
				s.port(o, pods, *p.Port, 0)
			}
		}
	case *ServiceMonitor:
		s.serviceMonitor(o)
	case *PodMonitor:
		pods := s.selects(o, &o.Spec.Selector)
		for _, e := range o.Spec.PodMetricsEndpoints {
			s.port(o, pods, intstr.FromString(e.Port), 0)
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		s.refers(o, o.Spec.ScaleTargetRef.Kind, o.Spec.ScaleTargetRef.Name)
	case *rbacv1.ClusterRoleBinding:
		s.binding(o, o.RoleRef, o.Subjects)
	case *rbacv1.RoleBinding:
		s.binding(o, o.RoleRef, o.Subjects)
	case *flowcontrolv1.FlowSchema:
		for _, rule := range o.Spec.Rules {
			for _, subject := range rule.Subjects {
				s.account(o, subject.ServiceAccount.Name, subject.ServiceAccount.Namespace)
			}
		}
	case *Certificate:
		s.certificate(o)
	case *Issuer:
		s.issuer(o)
	}
}

func (s *set) report(o Object, format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf("%s %s: %s", kind(o), o.GetName(), fmt.Sprintf(format, args...)))
}

func kind(o Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// selects returns the pods of a selector, which must select exactly one Deployment.
func (s *set) selects(o Object, selector *metav1.LabelSelector) (pods []*corev1.PodTemplateSpec) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		s.report(o, "selector: %v", err)
		return nil
	}
	for _, other := range s.objects {
		d, ok := other.(*appsv1.Deployment)
		if ok && d.Namespace == o.GetNamespace() && !parsed.Empty() && parsed.Matches(labels.Set(d.Spec.Template.Labels)) {
			pods = append(pods, &d.Spec.Template)
		}
	}
	if len(pods) != 1 {
		s.report(o, "%s selects the pods of %d Deployments, want 1", parsed, len(pods))
	}
	return pods
}

func (s *set) serviceMonitor(m *ServiceMonitor) {
	parsed, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		s.report(m, "selector: %v", err)
		return
	}
	found := 0
	for _, other := range s.objects {
		service, ok := other.(*corev1.Service)
		if !ok || parsed.Empty() || !parsed.Matches(labels.Set(service.Labels)) {
			continue
		}
		found++
		for _, e := range m.Spec.Endpoints {
			if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == e.Port }) {
				s.report(m, "the Service has no port %s", e.Port)
			}
		}
	}
	if found != 1 {
		s.report(m, "selects %d Services, want 1", found)
	}
}

// port checks that a container of the pods has a port with a name and, unless 0, a number.
func (s *set) port(o Object, pods []*corev1.PodTemplateSpec, name intstr.IntOrString, number int32) {
	for _, pod := range pods {
		got, ok := containerPort(&pod.Spec, name.StrVal)
		if !ok || number != 0 && got != number {
			s.report(o, "port %s of the pods is %d (exists: %t), want %d", name.String(), got, ok, number)
		}
	}
}

func containerPort(pod *corev1.PodSpec, name string) (number int32, ok bool) {
	for _, c := range containers(pod) {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.ContainerPort, true
			}
		}
	}
	return 0, false
}

func containers(pod *corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// refers checks that an object of a kind exists in the namespace of the object that refers to it.
func (s *set) refers(o Object, wanted, name string) {
	if slices.Contains(s.given, wanted+"/"+name) {
		return
	}
	for _, other := range s.objects {
		inScope := other.GetNamespace() == "" || other.GetNamespace() == o.GetNamespace()
		if kind(other) == wanted && other.GetName() == name && inScope {
			return
		}
		if c, ok := other.(*Certificate); ok && wanted == "Secret" && c.Spec.SecretName == name && inScope {
			return
		}
	}
	s.report(o, "there is no %s %q", wanted, name)
}

func (s *set) binding(o Object, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	ofKubernetes := strings.HasPrefix(role.Name, "system:") || role.Name == "extension-apiserver-authentication-reader"
	if !ofKubernetes {
		s.refers(o, role.Kind, role.Name)
	}
	for _, subject := range subjects {
		s.account(o, subject.Name, subject.Namespace)
	}
}

func (s *set) account(o Object, name, namespace string) {
	for _, other := range s.objects {
		if d, ok := other.(*appsv1.Deployment); ok && d.Namespace == namespace && d.Spec.Template.Spec.ServiceAccountName == name {
			return
		}
		if t, ok := other.(*corev1.Secret); ok && t.Namespace == namespace && t.Type == corev1.SecretTypeServiceAccountToken &&
			t.Annotations[corev1.ServiceAccountNameKey] == name {
			return
		}
	}
	s.report(o, "neither pods nor a token secret use the service account %s/%s", namespace, name)
}

func (s *set) certificate(c *Certificate) {
	if c.Spec.CommonName == "" && len(c.Spec.DNSNames) == 0 {
		s.report(c, "has no names")
	}
	if c.Spec.RenewBefore.Duration >= c.Spec.Duration.Duration {
		s.report(c, "is renewed %v before its end, which exceeds its duration of %v", c.Spec.RenewBefore, c.Spec.Duration)
	}
	switch ref := c.Spec.IssuerRef; {
	case ref.Name == "":
		s.report(c, "has no issuer")
	case ref.Kind == "Issuer":
		s.refers(c, ref.Kind, ref.Name)
	}
}

// issuer checks that an issuer is self-signed, or has a certificate that may sign.
func (s *set) issuer(i *Issuer) {
	if (i.Spec.CA == nil) == (i.Spec.SelfSigned == nil) {
		s.report(i, "must have exactly one type")
	}
	if i.Spec.CA == nil {
		return
	}
	for _, o := range s.objects {
		if c, ok := o.(*Certificate); ok && c.Namespace == i.Namespace && c.Spec.SecretName == i.Spec.CA.SecretName && c.Spec.IsCA {
			return
		}
	}
	s.report(i, "no Certificate of an authority is in the Secret %q", i.Spec.CA.SecretName)
}
