package convert

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Annotations of claims (k8s.io/component-helpers/storage/volume/pv_helpers.go, v0.37).
const (
	bindCompletedAnnotation = "pv.kubernetes.io/bind-completed"
	selectedNodeAnnotation  = "volume.kubernetes.io/selected-node"
)

var bindingModes = map[storagev1.VolumeBindingMode]stowagev1.VolumeBindingMode{
	storagev1.VolumeBindingImmediate:            stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_IMMEDIATE,
	storagev1.VolumeBindingWaitForFirstConsumer: stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
}

// StorageClass converts a StorageClass, with the binding mode that the API server sets.
func StorageClass(s *storagev1.StorageClass) (*stowagev1.StorageClass, error) {
	c := &converter{}
	out := &stowagev1.StorageClass{Name: s.Name, Provisioner: s.Provisioner, CsiDriver: migratedProvisioner(s.Provisioner)}
	switch {
	case s.VolumeBindingMode != nil:
		out.VolumeBindingMode = enum(c, bindingModes, *s.VolumeBindingMode, field.NewPath("volumeBindingMode"))
	case !object.Admitted(s):
		out.VolumeBindingMode = stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_IMMEDIATE
	}
	if len(s.AllowedTopologies) > 0 {
		out.AllowedTopologies = &stowagev1.NodeSelector{}
	}
	for _, t := range s.AllowedTopologies {
		term := &stowagev1.NodeSelectorTerm{}
		for _, r := range t.MatchLabelExpressions {
			term.MatchExpressions = append(term.MatchExpressions, &stowagev1.NodeSelectorRequirement{
				Key: r.Key, Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: slices.Clone(r.Values),
			})
		}
		out.AllowedTopologies.Terms = append(out.AllowedTopologies.Terms, term)
	}
	return out, c.err()
}

// CSIDriver converts a CSIDriver.
func CSIDriver(d *storagev1.CSIDriver) *stowagev1.CSIDriver {
	return &stowagev1.CSIDriver{
		Name:                          d.Name,
		StorageCapacity:               d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity,
		PreventPodSchedulingIfMissing: skew.PreventsPodSchedulingIfMissing(d),
	}
}

// CSIStorageCapacity converts a CSIStorageCapacity.
func CSIStorageCapacity(s *storagev1.CSIStorageCapacity) (*stowagev1.CSIStorageCapacity, error) {
	c := &converter{}
	out := &stowagev1.CSIStorageCapacity{
		Namespace: object.Namespace(s), Name: s.Name, StorageClassName: s.StorageClassName,
		NodeTopology:      c.labelSelector(s.NodeTopology, field.NewPath("nodeTopology")),
		Capacity:          c.bytes(s.Capacity, field.NewPath("capacity")),
		MaximumVolumeSize: c.bytes(s.MaximumVolumeSize, field.NewPath("maximumVolumeSize")),
	}
	return out, c.err()
}

// bytes converts an amount of storage, rounded up.
func (c *converter) bytes(q *resource.Quantity, path *field.Path) *int64 {
	if q == nil || !c.within(*q, math.MaxInt64, path) {
		return nil
	}
	return new(q.Value())
}

// storageOf converts the amount of storage in a list.
func (c *converter) storageOf(list corev1.ResourceList, path *field.Path) *int64 {
	if q, ok := list[corev1.ResourceStorage]; ok {
		return c.bytes(&q, path.Key(string(corev1.ResourceStorage)))
	}
	return nil
}

// CSINode converts a CSINode.
func CSINode(n *storagev1.CSINode) *stowagev1.CSINode {
	out := &stowagev1.CSINode{}
	for _, d := range n.Spec.Drivers {
		driver := &stowagev1.CSINodeDriver{Name: d.Name}
		if d.Allocatable != nil {
			driver.AllocatableCount = d.Allocatable.Count
		}
		out.Drivers = append(out.Drivers, driver)
	}
	for plugin := range strings.SplitSeq(n.Annotations[corev1.MigratedPluginsAnnotationKey], ",") {
		if plugin != "" {
			out.MigratedPlugins = append(out.MigratedPlugins, plugin)
		}
	}
	// No decision reads the order of either.
	slices.SortStableFunc(out.Drivers, func(x, y *stowagev1.CSINodeDriver) int { return cmp.Compare(x.Name, y.Name) })
	slices.Sort(out.MigratedPlugins)
	out.MigratedPlugins = slices.Compact(out.MigratedPlugins)
	return out
}

// ControllingPod returns the pod that controls a claim, nil if another object does.
func ControllingPod(p metav1.Object) *metav1.OwnerReference {
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil && owner.Kind == "Pod" {
		return owner
	}
	return nil
}

// PersistentVolume converts a PersistentVolume. Without a uid, it is available unless it is reserved for a claim.
func PersistentVolume(v *corev1.PersistentVolume) (*stowagev1.PersistentVolume, error) {
	c := &converter{}
	spec := field.NewPath("spec")
	out := &stowagev1.PersistentVolume{
		Name: v.Name, Labels: maps.Clone(v.Labels), StorageClassName: classOf(v, &v.Spec.StorageClassName),
		AccessModes: c.accessModes(v.Spec.AccessModes, spec.Child("accessModes")),
		VolumeMode:  c.volumeMode(v.Spec.VolumeMode, spec.Child("volumeMode")),
		Available:   v.Status.Phase == corev1.VolumeAvailable || v.Status.Phase == "" && !object.Admitted(v) && v.Spec.ClaimRef == nil,
		Terminating: v.DeletionTimestamp != nil,
	}
	if bytes := c.storageOf(v.Spec.Capacity, spec.Child("capacity")); bytes != nil {
		out.Capacity = *bytes
	}
	out.VolumeAttributesClassName = deref(v.Spec.VolumeAttributesClassName)
	if r := v.Spec.ClaimRef; r != nil {
		out.Claim = &stowagev1.ClaimReference{Namespace: cmp.Or(r.Namespace, metav1.NamespaceDefault), Name: r.Name, Uid: string(r.UID)}
	}
	out.NodeAffinity = c.volumeAffinity(v)
	if csi := v.Spec.CSI; csi != nil {
		out.CsiDriver, out.VolumeHandle = csi.Driver, csi.VolumeHandle
	} else {
		c.migrate(v, out)
	}
	return out, c.err()
}

func (c *converter) volumeAffinity(v *corev1.PersistentVolume) *stowagev1.NodeSelector {
	if v.Spec.NodeAffinity == nil {
		return nil
	}
	return c.nodeSelector(v.Spec.NodeAffinity.Required, field.NewPath("spec", "nodeAffinity", "required"))
}

// classOf returns the class of a claim or a volume, which the annotation of beta releases overrides.
func classOf(o metav1.Object, name *string) string {
	if class, found := o.GetAnnotations()[corev1.BetaStorageClassAnnotation]; found {
		return class
	}
	if name == nil {
		return ""
	}
	return *name
}

func (c *converter) accessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) *stowagev1.AccessModes {
	if len(modes) == 0 {
		return nil
	}
	out := &stowagev1.AccessModes{}
	for i, m := range modes {
		switch m {
		case corev1.ReadWriteOnce:
			out.ReadWriteOnce = true
		case corev1.ReadOnlyMany:
			out.ReadOnlyMany = true
		case corev1.ReadWriteMany:
			out.ReadWriteMany = true
		case corev1.ReadWriteOncePod:
			out.ReadWriteOncePod = true
		default:
			c.errs = append(c.errs, field.NotSupported(path.Index(i), m, []corev1.PersistentVolumeAccessMode{
				corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod,
			}))
		}
	}
	return out
}

var volumeModes = map[corev1.PersistentVolumeMode]stowagev1.VolumeMode{
	corev1.PersistentVolumeFilesystem: stowagev1.VolumeMode_VOLUME_MODE_FILESYSTEM,
	corev1.PersistentVolumeBlock:      stowagev1.VolumeMode_VOLUME_MODE_BLOCK,
}

// volumeMode writes the default out, so that a claim that sets it shares the template of one that does not.
func (c *converter) volumeMode(m *corev1.PersistentVolumeMode, path *field.Path) stowagev1.VolumeMode {
	if m == nil {
		return stowagev1.VolumeMode_VOLUME_MODE_FILESYSTEM
	}
	return enum(c, volumeModes, *m, path)
}

// claimSpec converts the spec of a claim or of a claim template; path is the path of the spec. class is the class that the API server
// sets if the claim has none.
func (c *converter) claimSpec(claim *corev1.PersistentVolumeClaim, class string, path *field.Path) *stowagev1.PersistentVolumeClaimSpec {
	s := &claim.Spec
	out := &stowagev1.PersistentVolumeClaimSpec{
		StorageClassName: class,
		StorageRequest:   c.storageOf(s.Resources.Requests, path.Child("resources", "requests")),
		AccessModes:      c.accessModes(s.AccessModes, path.Child("accessModes")),
		VolumeMode:       c.volumeMode(s.VolumeMode, path.Child("volumeMode")),
		Selector:         c.labelSelector(s.Selector, path.Child("selector")),
	}
	out.VolumeAttributesClassName = deref(s.VolumeAttributesClassName)
	return out
}

// hasClass reports whether a claim names a class, which may be the empty one (k8s.io/component-helpers/storage/volume
// PersistentVolumeClaimHasClass, v0.37).
func hasClass(claim *corev1.PersistentVolumeClaim) bool {
	_, beta := claim.Annotations[corev1.BetaStorageClassAnnotation]
	return beta || claim.Spec.StorageClassName != nil
}

// claim converts a claim of a class. to is the volume to which the controller of volumes binds it, nil for none.
func (c *converter) claim(p *corev1.PersistentVolumeClaim, class string, to *corev1.PersistentVolume) *stowagev1.PersistentVolumeClaim {
	volume := p.Spec.VolumeName
	if to != nil {
		volume = to.Name
	}
	_, completed := p.Annotations[bindCompletedAnnotation]
	return &stowagev1.PersistentVolumeClaim{
		Namespace: object.Namespace(p), Name: p.Name, Uid: string(p.UID),
		Spec:          c.claimSpec(p, class, SpecPath),
		VolumeName:    volume,
		BindCompleted: completed || to != nil,
		SelectedNode:  p.Annotations[selectedNodeAnnotation],
		Lost:          p.Status.Phase == corev1.ClaimLost,
		Terminating:   p.DeletionTimestamp != nil,
	}
}
