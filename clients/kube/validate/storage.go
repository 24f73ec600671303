package validate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// storage returns what the API server refuses of a storage object. Objects of other kinds are valid.
func storage(o metav1.Object) field.ErrorList {
	spec := field.NewPath("spec")
	switch o := o.(type) {
	case *corev1.PersistentVolume:
		return volume(&o.Spec, spec)
	case *corev1.PersistentVolumeClaim:
		return claim(&o.Spec, spec)
	case *storagev1.StorageClass:
		return storageClass(o)
	case *storagev1.CSINode:
		return csiNode(&o.Spec, spec.Child("drivers"))
	case *storagev1.CSIStorageCapacity:
		out := slices.Concat(selector(o.NodeTopology, field.NewPath("nodeTopology")),
			invalid(field.NewPath("storageClassName"), o.StorageClassName, apivalidation.NameIsDNSSubdomain(o.StorageClassName, false)))
		if o.Capacity != nil && o.Capacity.Sign() < 0 {
			out = append(out, field.Invalid(field.NewPath("capacity"), o.Capacity.String(), "must be greater than or equal to 0"))
		}
		return out
	case *storagev1.VolumeAttachment:
		return attachment(&o.Spec, spec)
	}
	return nil
}

// volume checks a PersistentVolume (ValidatePersistentVolumeSpec).
func volume(s *corev1.PersistentVolumeSpec, spec *field.Path) field.ErrorList {
	var out field.ErrorList
	if len(s.AccessModes) == 0 {
		out = append(out, field.Required(spec.Child("accessModes"), ""))
	}
	out = append(out, accessModes(s.AccessModes, spec.Child("accessModes"))...)
	at := spec.Child("capacity")
	if len(s.Capacity) == 0 {
		out = append(out, field.Required(at, ""))
	}
	if _, ok := s.Capacity[corev1.ResourceStorage]; !ok || len(s.Capacity) > 1 {
		out = append(out, field.NotSupported(at, s.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Capacity)) {
		if amount := s.Capacity[name]; amount.Sign() <= 0 {
			out = append(out, field.Invalid(at.Key(string(name)), amount.String(), "must be greater than zero"))
		}
	}
	if s.PersistentVolumeReclaimPolicy != "" {
		out = append(out, oneOf(spec.Child("persistentVolumeReclaimPolicy"), s.PersistentVolumeReclaimPolicy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	if s.NodeAffinity != nil {
		out = append(out, volumeAffinity(s.NodeAffinity.Required, spec.Child("nodeAffinity", "required"))...)
	}
	out = append(out, source(s, spec)...)
	return append(out, classAndMode(&s.StorageClassName, s.VolumeMode, spec)...)
}

// volumeAffinity checks the nodes of a volume (validateVolumeNodeAffinity).
func volumeAffinity(s *corev1.NodeSelector, at *field.Path) field.ErrorList {
	switch terms := at.Child("nodeSelectorTerms"); {
	case s == nil:
		return field.ErrorList{field.Required(at, "must specify required node constraints")}
	case len(s.NodeSelectorTerms) == 0:
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	default:
		var out field.ErrorList
		for i := range s.NodeSelectorTerms {
			out = append(out, nodeTerm(&s.NodeSelectorTerms[i], true, terms.Index(i))...)
		}
		return out
	}
}

// source checks that a volume has one type. Of the types, csi and local are read.
func source(s *corev1.PersistentVolumeSpec, spec *field.Path) field.ErrorList {
	var out field.ErrorList
	first := "" // the one that is checked
	for _, t := range []struct {
		name string
		is   bool
	}{ // in the API server's order
		{"hostPath", s.HostPath != nil}, {"gcePersistentDisk", s.GCEPersistentDisk != nil}, {"awsElasticBlockStore", s.AWSElasticBlockStore != nil},
		{"glusterfs", s.Glusterfs != nil}, {"flocker", s.Flocker != nil}, {"nfs", s.NFS != nil}, {"rbd", s.RBD != nil}, {"quobyte", s.Quobyte != nil},
		{"cephFS", s.CephFS != nil}, {"iscsi", s.ISCSI != nil}, {"cinder", s.Cinder != nil}, {"fc", s.FC != nil}, {"flexVolume", s.FlexVolume != nil},
		{"azureFile", s.AzureFile != nil}, {"vsphereVolume", s.VsphereVolume != nil}, {"photonPersistentDisk", s.PhotonPersistentDisk != nil},
		{"portworxVolume", s.PortworxVolume != nil}, {"azureDisk", s.AzureDisk != nil}, {"scaleIO", s.ScaleIO != nil}, {"local", s.Local != nil},
		{"storageos", s.StorageOS != nil}, {"csi", s.CSI != nil},
	} {
		if !t.is {
			continue
		}
		if first == "" {
			first = t.name
		} else if t.name != "flexVolume" {
			out = append(out, field.Forbidden(spec.Child(t.name), "may not specify more than 1 volume type"))
		}
	}
	switch csi := spec.Child("csi"); first {
	case "":
		out = append(out, field.Required(spec, "must specify a volume type"))
	case "local":
		if s.Local.Path == "" {
			out = append(out, field.Required(spec.Child("local", "path"), ""))
		}
		if s.NodeAffinity == nil {
			out = append(out, field.Required(spec.Child("nodeAffinity"), "Local volume requires node affinity"))
		}
	case "csi":
		out = append(out, driverName(s.CSI.Driver, csi.Child("driver"))...)
		if s.CSI.VolumeHandle == "" {
			out = append(out, field.Required(csi.Child("volumeHandle"), ""))
		}
	}
	return out
}

// claim checks the spec of a claim or of a claim template (ValidatePersistentVolumeClaimSpec).
func claim(s *corev1.PersistentVolumeClaimSpec, spec *field.Path) field.ErrorList {
	var out field.ErrorList
	if len(s.AccessModes) == 0 {
		out = append(out, field.Required(spec.Child("accessModes"), "at least 1 access mode is required"))
	}
	out = append(out, selector(s.Selector, spec.Child("selector"))...)
	out = append(out, accessModes(s.AccessModes, spec.Child("accessModes"))...)
	at := spec.Child("resources").Key(string(corev1.ResourceStorage))
	if amount, ok := s.Resources.Requests[corev1.ResourceStorage]; !ok {
		out = append(out, field.Required(at, ""))
	} else if amount.Sign() <= 0 {
		out = append(out, field.Invalid(at, amount.String(), "must be greater than zero"))
	}
	return append(out, classAndMode(s.StorageClassName, s.VolumeMode, spec)...)
}

// claimTemplates checks the claim templates of a StatefulSet (validateVolumeClaimTemplates).
func claimTemplates(all []corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	var out field.ErrorList
	for i := range all {
		out = append(out, claim(&all[i].Spec, path.Index(i).Child("spec"))...)
	}
	return out
}

func accessModes(modes []corev1.PersistentVolumeAccessMode, at *field.Path) field.ErrorList {
	var out field.ErrorList
	exclusive := slices.Contains(modes, corev1.ReadWriteOncePod)
	shared := false
	for _, m := range modes {
		errs := oneOf(at, m, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		shared = shared || len(errs) == 0 && m != corev1.ReadWriteOncePod
		out = append(out, errs...)
	}
	if exclusive && shared {
		out = append(out, field.Forbidden(at, "may not use ReadWriteOncePod with other access modes"))
	}
	return out
}

func classAndMode(class *string, mode *corev1.PersistentVolumeMode, spec *field.Path) field.ErrorList {
	var out field.ErrorList
	if class != nil && *class != "" {
		out = invalid(spec.Child("storageClassName"), *class, apivalidation.NameIsDNSSubdomain(*class, false))
	}
	if mode != nil {
		out = append(out, oneOf(spec.Child("volumeMode"), *mode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return out
}

// storageClass checks a StorageClass (ValidateStorageClass), whose binding mode and reclaim policy have defaults.
func storageClass(c *storagev1.StorageClass) field.ErrorList {
	at := field.NewPath("provisioner")
	var out field.ErrorList
	if c.Provisioner == "" {
		out = append(out, field.Required(at, ""))
	} else {
		name := strings.ToLower(c.Provisioner)
		out = append(out, invalid(at, name, validation.IsQualifiedName(name))...)
	}
	if c.ReclaimPolicy != nil && *c.ReclaimPolicy != "" {
		out = append(out, oneOf(field.NewPath("reclaimPolicy"), *c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	if c.VolumeBindingMode != nil {
		out = append(out, oneOf(field.NewPath("volumeBindingMode"), *c.VolumeBindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	for i := range c.AllowedTopologies {
		out = append(out, topology(&c.AllowedTopologies[i], field.NewPath("allowedTopologies").Index(i))...)
	}
	return out
}

// topology checks where a class provisions volumes (ValidateTopologySelectorTerm).
func topology(t *corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var out field.ErrorList
	keys := map[string]bool{}
	for i, r := range t.MatchLabelExpressions {
		at := path.Child("matchLabelExpressions").Index(i)
		if len(r.Values) == 0 {
			out = append(out, field.Required(at.Child("values"), ""))
		}
		values := map[string]bool{}
		for j, value := range r.Values {
			if values[value] {
				out = append(out, field.Duplicate(at.Child("values").Index(j), value))
			}
			values[value] = true
		}
		out = append(out, metavalidation.ValidateLabelName(r.Key, at.Child("key"))...)
		if keys[r.Key] {
			out = append(out, field.Duplicate(at.Child("key"), r.Key))
		}
		keys[r.Key] = true
	}
	return out
}

// csiNode checks the drivers of a CSINode (validateCSINodeDrivers).
func csiNode(s *storagev1.CSINodeSpec, path *field.Path) field.ErrorList {
	var out field.ErrorList
	names := map[string]bool{}
	for i, d := range s.Drivers {
		at := path.Index(i)
		out = append(out, driverName(d.Name, at.Child("name"))...)
		if d.NodeID == "" {
			out = append(out, field.Required(at.Child("nodeID"), ""))
		}
		if d.Allocatable != nil {
			out = append(out, count(d.Allocatable.Count, at.Child("allocatable", "count"))...)
		}
		if names[d.Name] {
			out = append(out, field.Duplicate(at.Child("name"), d.Name))
		}
		names[d.Name] = true
	}
	return out
}

// attachment checks a VolumeAttachment (validateVolumeAttachmentSpec).
func attachment(s *storagev1.VolumeAttachmentSpec, spec *field.Path) field.ErrorList {
	out := driverName(s.Attacher, spec.Child("attacher"))
	at := spec.Child("source")
	switch name := s.Source.PersistentVolumeName; {
	case (name == nil) == (s.Source.InlineVolumeSpec == nil):
		out = append(out, field.Required(at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case name != nil:
		out = append(out, invalid(at.Child("persistentVolumeName"), *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
	}
	return append(out, invalid(spec.Child("nodeName"), s.NodeName, apivalidation.NameIsDNSSubdomain(s.NodeName, false))...)
}

// driverName checks the name of a CSI driver (ValidateCSIDriverName).
func driverName(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if len(name) > validation.DNS1123LabelMaxLength {
		return field.ErrorList{field.TooLong(at, "", validation.DNS1123LabelMaxLength)}
	}
	return invalid(at, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
}
