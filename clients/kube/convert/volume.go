package convert

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Storage has the storage objects that the volumes of pods depend on, and what is assumed about missing ones. See
// docs/0031-volumes-in-manifests.md.
type Storage struct {
	classes  map[string]*storagev1.StorageClass
	standard *storagev1.StorageClass                  // the default class
	claims   map[string]*corev1.PersistentVolumeClaim // by namespace and name
	volumes  map[string]*corev1.PersistentVolume
	reserved map[string][]*corev1.PersistentVolume // by namespace and name of the claim
	// templates are the claim templates of StatefulSets, by namespace, StatefulSet and name.
	templates map[[3]string]*corev1.PersistentVolumeClaim
	// known says that some class is of a cluster, so that the cluster has no others.
	known bool
	// whole says that the cluster has no other storage objects.
	whole bool
	// partial says that the cluster's storage is there in part.
	partial bool
	// uncounted says that nodes with limits have pods whose claims were not added.
	uncounted bool
	// closed says that no class is assumed any more.
	closed        bool
	assumed       map[string]bool // classes
	assumedClaims map[string]bool
}

// AssumedDefault is the name of the default StorageClass in snapshots that lack it. No StorageClass can have it.
const AssumedDefault = "<default>"

// assumedProvisioner is the provisioner of assumed classes.
const assumedProvisioner = "stowage.scheduling/assumed"

// NewStorage returns storage without objects. whole says that all storage objects of the cluster will be added.
func NewStorage(whole bool) *Storage {
	return &Storage{
		whole: whole, known: whole,
		classes: map[string]*storagev1.StorageClass{}, claims: map[string]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, reserved: map[string][]*corev1.PersistentVolume{},
		templates: map[[3]string]*corev1.PersistentVolumeClaim{}, assumed: map[string]bool{}, assumedClaims: map[string]bool{},
	}
}

// AddClass adds a StorageClass. Of several default classes, the newest is the default (plugin/pkg/admission/storage/storageclass/setdefault
// and pkg/volume/util/storageclass.go GetDefaultClass, v1.37).
func (s *Storage) AddClass(c *storagev1.StorageClass) {
	s.classes[c.Name] = c
	s.partial, s.known = true, s.known || object.Admitted(c)
	if c.Annotations[defaultClassAnnotation] != "true" && c.Annotations[betaDefaultClassAnnotation] != "true" {
		return
	}
	if d := s.standard; d == nil || d.CreationTimestamp.Before(&c.CreationTimestamp) ||
		d.CreationTimestamp.Equal(&c.CreationTimestamp) && c.Name < d.Name {
		s.standard = c
	}
}

// The annotations of a default StorageClass (pkg/volume/util/storageclass.go, v1.37).
const (
	defaultClassAnnotation     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClassAnnotation = "storageclass.beta.kubernetes.io/is-default-class"
)

// AddStatefulSet adds the claim templates of a StatefulSet.
func (s *Storage) AddStatefulSet(set *appsv1.StatefulSet) {
	for i := range set.Spec.VolumeClaimTemplates {
		t := &set.Spec.VolumeClaimTemplates[i]
		s.templates[[3]string{object.Namespace(set), set.Name, t.Name}] = t
	}
}

// ofStatefulSet returns the template of a claim of a pod that a StatefulSet will create, nil for none. A pod of a cluster has its claims: the
// controller creates them before it.
func (s *Storage) ofStatefulSet(p *corev1.Pod, name string) *corev1.PersistentVolumeClaim {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil || owner.Kind != "StatefulSet" || object.Admitted(p) {
		return nil
	}
	return s.templates[[3]string{object.Namespace(p), owner.Name, name}]
}

// AddVolume adds a PersistentVolume.
func (s *Storage) AddVolume(v *corev1.PersistentVolume) {
	s.volumes[v.Name] = v
	s.partial = true
	if r := v.Spec.ClaimRef; r != nil {
		s.reserved[claimKey(r)] = append(s.reserved[claimKey(r)], v)
	}
}

// Volume returns a PersistentVolume that was added, nil if there is none of that name.
func (s *Storage) Volume(name string) *corev1.PersistentVolume { return s.volumes[name] }

// AddClaim adds a PersistentVolumeClaim.
func (s *Storage) AddClaim(p *corev1.PersistentVolumeClaim) {
	s.claims[object.Namespace(p)+"/"+p.Name] = p
	s.partial = s.partial || object.Admitted(p)
}

// Claim converts a claim that was added. It is nil if the pods have the claim as a template.
func (s *Storage) Claim(p *corev1.PersistentVolumeClaim) (*stowagev1.PersistentVolumeClaim, error) {
	class := s.className(p)
	to := s.boundBefore(p, class)
	if to == nil && s.isTemplate(p, class) {
		return nil, nil
	}
	c := &converter{}
	out := c.claim(p, class, to)
	return out, c.err()
}

// Lacks reports whether a pod of a cluster uses a claim that was not added.
func (s *Storage) Lacks(p *corev1.Pod) bool {
	return !s.whole && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		name := ClaimName(p, &v)
		return name != "" && s.claims[object.Namespace(p)+"/"+name] == nil
	})
}

// ClaimName returns the name of the claim that a pod uses as a volume, empty for none.
func ClaimName(p *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return p.Name + "-" + v.Name
	}
	return ""
}

// Uncount notes that nodes with limits have pods that lack claims.
func (s *Storage) Uncount() { s.uncounted = true }

// Close ends the assumptions: the snapshot has the classes by then.
func (s *Storage) Close() { s.closed = true }

// isTemplate reports whether pods have a new claim as a template: the controller of volumes binds it without waiting for a pod, or its
// volume can be used on other nodes than its first pod's.
func (s *Storage) isTemplate(p *corev1.PersistentVolumeClaim, class string) bool {
	_, selected := p.Annotations[selectedNodeAnnotation]
	if object.Admitted(p) || s.whole || p.Spec.VolumeName != "" || selected {
		return false
	}
	of := s.classes[class]
	return class == "" || of != nil && (of.VolumeBindingMode == nil || *of.VolumeBindingMode == storagev1.VolumeBindingImmediate) ||
		slices.Contains(p.Spec.AccessModes, corev1.ReadWriteMany) || slices.Contains(p.Spec.AccessModes, corev1.ReadOnlyMany)
}

// use is how a pod uses a claim.
type use struct {
	template *stowagev1.PersistentVolumeClaimSpec
	unread   string // why the volume is left out
	doubt    string // what is assumed
}

// use returns how a pod uses a claim. template is the claim that a controller creates, nil for none.
func (s *Storage) use(of *Source, claim string, template *corev1.PersistentVolumeClaim) (use, error) {
	name := object.Namespace(of.Pod) + "/" + claim
	existing := s.claims[name]
	if claim == "" {
		existing = nil
	}
	switch admitted := object.Admitted(of.Pod) || of.Pod.Spec.NodeName != ""; { // of a cluster
	case existing != nil && existing.Spec.VolumeName != "" && len(s.volumes) == 0 && !s.whole && !rejects(existing):
		return use{unread: readsBound}, nil
	case existing != nil:
		class := s.className(existing)
		if s.boundBefore(existing, class) != nil {
			return use{}, nil
		}
		if s.selectsNoNode(existing, class) {
			return use{unread: readsNoNode}, nil
		}
		if s.isTemplate(existing, class) {
			return s.create(existing)
		}
		out := s.assume(existing, class)
		if template != nil && !admitted { // so that the pods of a workload share a template, whether or not their claims exist
			created, err := s.create(template)
			out.template = created.template
			return out, err
		}
		return out, nil
	case s.whole && object.Admitted(of.Pod):
		return use{}, nil // kube-scheduler counts no claim that does not exist
	case admitted && !s.whole && (len(s.claims) == 0 || template == nil && of.Pod.Spec.NodeName != ""):
		return use{unread: readsClaim}, nil
	case template != nil:
		return s.create(template)
	case len(s.claims) == 0 && !s.whole:
		if !s.closed {
			s.assumedClaims[name] = true
		}
		// Of a claim that several pods share, nothing says that one node alone can use its volume.
		out, err := s.create(&corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		}})
		if out.unread == "" {
			out.doubt = s.unsure(readsMissing)
		}
		return out, err
	}
	return use{}, nil
}

// selectsNoNode reports whether a claim that waits for its node has an annotation that names none: it equals no node's name, whereas the
// contract's claim without a selected node suits all (k8s.io/kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go
// FindPodVolumes, v1.37). Pods of a whole cluster are not converted again when such an annotation changes.
func (s *Storage) selectsNoNode(p *corev1.PersistentVolumeClaim, class string) bool {
	node, selected := p.Annotations[selectedNodeAnnotation]
	of := s.classes[class]
	return selected && node == "" && !s.whole && p.Spec.VolumeName == "" && !rejects(p) &&
		of != nil && of.VolumeBindingMode != nil && *of.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// create returns the use of a claim that a controller creates or binds before the pod.
func (s *Storage) create(p *corev1.PersistentVolumeClaim) (use, error) {
	class := s.className(p)
	out, c := s.assume(p, class), &converter{}
	out.template = c.claimSpec(p, class, SpecPath)
	return out, c.err()
}

// rejects reports whether a claim rejects its pods, wherever its volume is.
func rejects(p *corev1.PersistentVolumeClaim) bool {
	return p.Status.Phase == corev1.ClaimLost || p.DeletionTimestamp != nil
}

// isStorage reports whether a volume is a claim or a disk.
func isStorage(v *stowagev1.Volume) bool { return v.GetImage() == nil && v.GetEmptyDir() == nil }

// UsesStorage reports whether a pod has volumes that SetClaims converts.
func UsesStorage(s *corev1.PodSpec) bool {
	return slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return sourceOf(&v) != nil })
}

// AddClaims sets the claims of volumes and devices and the disks of a converted pod, once all objects are added, and adds unread fields.
func (e *Environment) AddClaims(out *stowagev1.Pod, of Source) {
	unread := append(e.SetClaims(out, of), e.implied(out, of)...)
	if len(unread) > 0 {
		out.Unread = append(unread, out.Unread...)
		out.Unread = out.Unread[:min(len(out.Unread), maximumUnread)]
	}
}

// SetClaims sets the claims of volumes and devices and the disks of a converted pod, once all objects are added, and returns the ones that
// are left out or not sure. Without storage and devices, all are left out.
func (e *Environment) SetClaims(out *stowagev1.Pod, of Source) []*stowagev1.UnreadField {
	var unread []*stowagev1.UnreadField
	if UsesStorage(&of.Pod.Spec) {
		unread = e.setVolumes(out, of)
	}
	if len(of.Pod.Spec.ResourceClaims) > 0 {
		unread = append(unread, e.setDevices(out, of)...)
	}
	return unread
}

func (e *Environment) setVolumes(out *stowagev1.Pod, of Source) []*stowagev1.UnreadField {
	s := &of.Pod.Spec
	u, spec := &unreads{object: of.Object}, out.GetTemplate().GetSpec()
	spec.Volumes = slices.DeleteFunc(slices.Clone(spec.Volumes), isStorage)
	for i := range s.Volumes {
		source := sourceOf(&s.Volumes[i])
		if source == nil {
			continue
		}
		at := of.Path.Child("volumes").Index(i - len(of.Claims)).Child(source.name)
		if i < len(of.Claims) {
			at = field.NewPath("spec", "volumeClaimTemplates").Index(i)
		}
		if e.storage == nil {
			u.add(at, source.consequence)
			continue
		}
		v, how, err := e.storage.volume(&of, i)
		if err != nil {
			how.unread = err.Error()
		}
		if how.unread+how.doubt == "" && e.storage.uncounted && ClaimName(of.Pod, &s.Volumes[i]) != "" {
			how.doubt = readsOthers
		}
		if doubt := how.unread + how.doubt; doubt != "" {
			u.add(at, doubt)
		}
		if how.unread == "" && v != nil {
			spec.Volumes = append(spec.Volumes, v)
		}
	}
	if !of.Named && slices.ContainsFunc(spec.Volumes, NamedByPod) {
		out.Name = "" // another pod's claims have it
	}
	return u.fields
}

// NamedByPod reports whether a volume is a claim whose name depends on the name of the pod.
func NamedByPod(v *stowagev1.Volume) bool {
	return v.GetEphemeral() != nil || v.GetPersistentVolumeClaim().GetOfPod()
}

// volume converts a claim or a disk.
func (s *Storage) volume(of *Source, i int) (*stowagev1.Volume, use, error) {
	v, pod := &of.Pod.Spec.Volumes[i], ""
	if of.Named {
		pod = of.Pod.Name
	}
	suffix := "-" + pod
	switch {
	case v.PersistentVolumeClaim != nil:
		out := &stowagev1.PersistentVolumeClaimVolumeSource{ClaimName: v.PersistentVolumeClaim.ClaimName}
		claim, template := out.ClaimName, (*corev1.PersistentVolumeClaim)(nil)
		if i < len(of.Claims) {
			template = &of.Claims[i]
			out.ClaimName, out.OfPod, claim = template.Name, true, ""
			if pod != "" {
				claim = template.Name + suffix
			}
		} else if base, found := strings.CutSuffix(claim, suffix); found && pod != "" && base != "" {
			out.ClaimName, out.OfPod, template = base, true, s.ofStatefulSet(of.Pod, base)
		}
		how, err := s.use(of, claim, template)
		out.ClaimTemplate = how.template
		return &stowagev1.Volume{Source: &stowagev1.Volume_PersistentVolumeClaim{PersistentVolumeClaim: out}}, how, err
	case v.Ephemeral != nil:
		out := &stowagev1.EphemeralVolumeSource{VolumeName: v.Name}
		how, err := s.use(of, strings.TrimPrefix(pod+"-"+v.Name, "-"+v.Name), ephemeralClaim(of.Pod, v))
		out.ClaimTemplate = how.template
		return &stowagev1.Volume{Source: &stowagev1.Volume_Ephemeral{Ephemeral: out}}, how, err
	}
	if d := disk(v, object.Namespace(of.Pod)); d != nil {
		return &stowagev1.Volume{Source: &stowagev1.Volume_Disk{Disk: d}}, use{}, nil
	}
	return nil, use{}, nil
}

// ephemeralClaim returns the claim that the ephemeral volume controller creates, nil if a pending pod of a cluster waits for it.
func ephemeralClaim(p *corev1.Pod, v *corev1.Volume) *corev1.PersistentVolumeClaim {
	if object.Admitted(p) && p.Spec.NodeName == "" {
		return nil
	}
	out := &corev1.PersistentVolumeClaim{}
	if t := v.Ephemeral.VolumeClaimTemplate; t != nil {
		out.ObjectMeta, out.Spec = t.ObjectMeta, t.Spec
	}
	return out
}
