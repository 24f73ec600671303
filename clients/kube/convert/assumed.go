package convert

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Assumed returns the classes that pods need and that were not added, as classes whose volumes are provisioned anywhere.
func (s *Storage) Assumed() []*stowagev1.StorageClass {
	var out []*stowagev1.StorageClass
	for _, name := range slices.Sorted(maps.Keys(s.assumed)) {
		out = append(out, &stowagev1.StorageClass{
			Name: name, Provisioner: assumedProvisioner,
			VolumeBindingMode: stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
		})
	}
	return out
}

// AssumedClaims returns the names of claims that pods need and that were not added.
func (s *Storage) AssumedClaims() []string { return slices.Sorted(maps.Keys(s.assumedClaims)) }

// className returns the class of a claim as the API server stores it.
func (s *Storage) className(p *corev1.PersistentVolumeClaim) string {
	switch {
	case hasClass(p) || object.Admitted(p):
		return classOf(p, p.Spec.StorageClassName)
	case s.standard != nil:
		return s.standard.Name
	case !s.known:
		return AssumedDefault
	}
	return ""
}

// assume assumes the class of a claim that is not bound, if it is not known, and returns what is not sure because of that.
func (s *Storage) assume(p *corev1.PersistentVolumeClaim, class string) (out use) {
	if class == "" || s.known || s.classes[class] != nil || p.Spec.VolumeName != "" {
		return use{}
	}
	if !s.assumed[class] {
		if s.closed {
			return use{unread: readsClaim}
		}
		s.assumed[class] = true
	}
	return use{doubt: s.unsure(readsClass)}
}

// unsure returns a doubt if some of the cluster's storage is there. Without any, the input is no cluster.
func (s *Storage) unsure(doubt string) string {
	if s.partial {
		return doubt
	}
	return ""
}
