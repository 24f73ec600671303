package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// whyVolumes says which claims, volumes and limits of CSI drivers keep a pod from nodes.
func (x *Explanation) whyVolumes(e *stowagev1.Explanation) []string {
	var out []string
	for _, c := range ClaimConflicts(e) {
		out = append(out, x.claimConflict(c))
	}
	if text := unusableClaim(e); text != "" {
		out = append(out, text+": it leaves out all nodes")
	}
	if all := e.GetAttachShortages(); len(all) > 0 {
		s := all[0]
		text := fmt.Sprintf("%s has %d of %d volumes of %s attached, and the pod adds %d", x.Node(s.GetNodeIndex()), s.GetAttached(), s.GetLimit(),
			s.GetCsiDriver(), s.GetAdded())
		if len(all) > 1 {
			text += fmt.Sprintf(", and so on, %d limits in all", len(all))
		}
		out = append(out, text)
	}
	if users := e.GetVolumeUsers(); len(users) > 0 {
		out = append(out, x.volumeUsers(e, users))
	}
	return out
}

// unusableClaim is kube-scheduler's text for a claim that does not exist, is lost or is being deleted, empty if there is none: it is no
// conflict with nodes (k8s.io/kubernetes pkg/scheduler/framework/plugins/volumebinding/volume_binding.go podHasPVCs, v1.37).
func unusableClaim(e *stowagev1.Explanation) string {
	isClaim := func(t stowagev1.RejectionReason) bool { return t == stowagev1.RejectionReason_REJECTION_REASON_CLAIM }
	if slices.ContainsFunc(e.GetClaimConflicts(), func(c *stowagev1.ClaimConflict) bool { return isClaim(c.GetReason()) }) {
		return "" // an unbound one, of which the conflict says more
	}
	for _, check := range e.GetFailingChecks() {
		for _, r := range check.GetReasons() {
			if check.GetPlugin() == stowagev1.Plugin_PLUGIN_VOLUME_BINDING && isClaim(r.GetType()) {
				return r.GetMessage()
			}
		}
	}
	return ""
}

// ClaimConflicts are the conflicts of claims, each once: VolumeZone repeats conflicts of VolumeBinding.
func ClaimConflicts(e *stowagev1.Explanation) []*stowagev1.ClaimConflict {
	all := e.GetClaimConflicts()
	return slices.DeleteFunc(slices.Clone(all), func(c *stowagev1.ClaimConflict) bool {
		return c.GetReason() == stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE && slices.ContainsFunc(all, func(o *stowagev1.ClaimConflict) bool {
			return o.GetReason() == stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NODE_CONFLICT && o.GetVolumeName() == c.GetVolumeName() &&
				slices.Equal(o.GetNodes().GetIndexes(), c.GetNodes().GetIndexes())
		})
	})
}

// Claim names the claim of a conflict in a sentence. The claim of a pod without a name has none.
func Claim(c *stowagev1.ClaimConflict) string {
	if c.GetName() == "" {
		return "its new claim"
	}
	return "claim " + ClaimName(c)
}

// ClaimName is the name of the claim of a conflict, empty if it has none.
func ClaimName(c *stowagev1.ClaimConflict) string {
	if c.GetName() == "" {
		return ""
	}
	return c.GetNamespace() + "/" + c.GetName()
}

// claimConflict says why a claim cannot be used, and where.
func (x *Explanation) claimConflict(c *stowagev1.ClaimConflict) string {
	claim, class := Claim(c), c.GetStorageClassName()
	where := some(c.GetNodes())
	if n := len(x.Cluster.GetNodes()); n > 1 && len(c.GetNodes().GetNames()) == n {
		where = "all nodes"
	}
	switch c.GetReason() {
	case stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NODE_CONFLICT, stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE:
		place := x.VolumePlace(c.GetVolumeName())
		if c.GetReason() == stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE {
			place = zonesOf(named(x.Cluster.GetPersistentVolumes(), c.GetVolumeName()))
		}
		return fmt.Sprintf("%s is bound to volume %s, which nodes with %s alone can use: it leaves out %s", claim, c.GetVolumeName(), place, where)
	case stowagev1.RejectionReason_REJECTION_REASON_VOLUME_BIND_CONFLICT:
		return x.unprovided(c) + ": it leaves out " + where
	case stowagev1.RejectionReason_REJECTION_REASON_STORAGE_CAPACITY:
		asks, most := x.claimRequest(c), x.mostCapacity(class)
		text := fmt.Sprintf("%s asks for %s of class %s, more than the CSIStorageCapacities of %s offer", claim, Storage(asks), class, where)
		if most < asks {
			text += fmt.Sprintf(", at most %s", Storage(most))
		}
		return text
	case stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NOT_FOUND:
		return fmt.Sprintf("%s is bound to volume %s, which does not exist", claim, c.GetVolumeName())
	}
	return x.unbound(c)
}

// unprovided says why no volume is found or provisioned for a claim.
func (x *Explanation) unprovided(c *stowagev1.ClaimConflict) string {
	class := StorageClass(x.Cluster, c.GetStorageClassName())
	switch {
	case c.GetSelectedNode() != "":
		return fmt.Sprintf("a volume of %s is provisioned for %s", Claim(c), c.GetSelectedNode())
	case class.GetAllowedTopologies() != nil && provisions(class):
		return fmt.Sprintf("class %s of %s provisions volumes for nodes with %s alone", class.GetName(), Claim(c), nodeTerms(class.GetAllowedTopologies()))
	}
	if c.GetStorageClassName() == "" {
		return "no free volume without a class suits " + Claim(c)
	}
	return fmt.Sprintf("no free volume of class %s suits %s, and the class provisions none", c.GetStorageClassName(), Claim(c))
}

// provisions reports whether a class provisions volumes (k8s.io/kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go
// checkVolumeProvisions, v1.37).
func provisions(c *stowagev1.StorageClass) bool {
	return c.GetProvisioner() != "" && c.GetProvisioner() != "kubernetes.io/no-provisioner"
}

// unbound says why a claim that should be bound before its pod is not.
func (x *Explanation) unbound(c *stowagev1.ClaimConflict) string {
	switch class := StorageClass(x.Cluster, c.GetStorageClassName()); {
	case c.GetVolumeName() != "":
		return fmt.Sprintf("%s names volume %s, and is not bound to it", Claim(c), c.GetVolumeName())
	case c.GetStorageClassName() == "":
		return Claim(c) + " is not bound, and has no class that provisions a volume"
	case class == nil:
		return fmt.Sprintf("%s is not bound, and its class %s does not exist", Claim(c), c.GetStorageClassName())
	}
	return fmt.Sprintf("%s is not bound: its class %s has volumeBindingMode Immediate, so that its volume comes before the pod's node",
		Claim(c), c.GetStorageClassName())
}

// volumeUsers says who uses a disk of the pod, or a claim that one pod alone may use.
func (x *Explanation) volumeUsers(e *stowagev1.Explanation, users []*stowagev1.PodReference) string {
	has := func(reason stowagev1.RejectionReason) bool {
		return slices.ContainsFunc(e.GetFailingChecks(), func(r *stowagev1.Rejection) bool {
			return slices.ContainsFunc(r.GetReasons(), func(of *stowagev1.Reason) bool { return of.GetType() == reason })
		})
	}
	var of []string
	if has(stowagev1.RejectionReason_REJECTION_REASON_READ_WRITE_ONCE_POD_CONFLICT) {
		of = append(of, cmp.Or(x.exclusive(), "its claim")+", which one pod alone may use (ReadWriteOncePod)")
	}
	if has(stowagev1.RejectionReason_REJECTION_REASON_DISK_CONFLICT) {
		of = append(of, "a disk of the pod")
	}
	several := len(users) > 1 || users[0].GetCount() > 1
	verb := map[bool]string{true: " use ", false: " uses "}[several]
	return x.Pods(users[:min(len(users), maximumNames)]) + verb + strings.Join(of, " or ")
}

// exclusive names the claims of the pod that one pod alone may use.
func (x *Explanation) exclusive() string {
	var out []string
	for _, c := range x.Cluster.GetPersistentVolumeClaims() {
		if c.GetSpec().GetAccessModes().GetReadWriteOncePod() && slices.ContainsFunc(x.Claims, func(o *stowagev1.PersistentVolumeClaim) bool { return same(o, c) }) {
			out = append(out, "claim "+c.GetNamespace()+"/"+c.GetName())
		}
	}
	return strings.Join(out, ", ")
}

// StorageClass returns a class of a cluster, nil if there is none of that name.
func StorageClass(c *stowagev1.Cluster, name string) *stowagev1.StorageClass {
	return named(c.GetStorageClasses(), name)
}

// named returns the object of a name, nil if there is none.
func named[T interface {
	comparable
	GetName() string
}](all []T, name string) (none T) {
	if i := slices.IndexFunc(all, func(o T) bool { return o.GetName() == name }); i >= 0 {
		return all[i]
	}
	return none
}

// VolumePlace is the labels of the nodes that can use a volume; empty if these are all.
func (x *Explanation) VolumePlace(name string) string {
	v := named(x.Cluster.GetPersistentVolumes(), name)
	if affinity := cmp.Or(v.GetNodeAffinity(), v.GetMigratedNodeAffinity()); affinity != nil {
		return nodeTerms(affinity)
	}
	return zonesOf(v)
}

// zonesOf is the labels of a volume that VolumeZone reads.
func zonesOf(v *stowagev1.PersistentVolume) string {
	var out []string
	for _, key := range []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	} {
		if value, has := v.GetLabels()[key]; has {
			out = append(out, key+"="+strings.ReplaceAll(value, "__", " or "))
		}
	}
	return strings.Join(out, ",")
}

// nodeTerms writes a node selector.
func nodeTerms(s *stowagev1.NodeSelector) string {
	var out []string
	for _, t := range s.GetTerms() {
		out = append(out, NodeTerm(t))
	}
	return strings.Join(out, " or ")
}

// claimRequest is what a claim asks for; 0 if that is not known.
func (x *Explanation) claimRequest(of *stowagev1.ClaimConflict) int64 {
	for _, list := range [][]*stowagev1.PersistentVolumeClaim{x.Cluster.GetPersistentVolumeClaims(), x.Claims} {
		for _, c := range list {
			if same(c, of) && (of.GetName() != "" || c.GetSpec().GetStorageClassName() == of.GetStorageClassName()) {
				return c.GetSpec().GetStorageRequest()
			}
		}
	}
	return 0
}

// same reports whether two objects have one name and namespace.
func same(a, b interface {
	GetNamespace() string
	GetName() string
},
) bool {
	return a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace()
}

// mostCapacity is the largest volume that a class can provide anywhere.
func (x *Explanation) mostCapacity(class string) (most int64) {
	for _, c := range x.Cluster.GetCsiStorageCapacities() {
		if c.GetStorageClassName() == class {
			most = max(most, CapacityLimit(c))
		}
	}
	return most
}

// CapacityLimit is the largest volume that a CSIStorageCapacity offers (binder.go capacitySufficient, v1.37).
func CapacityLimit(c *stowagev1.CSIStorageCapacity) int64 {
	if c.MaximumVolumeSize != nil {
		return c.GetMaximumVolumeSize()
	}
	return c.GetCapacity()
}

// Storage writes an amount of storage; 0 is an unknown one.
func Storage(n int64) string {
	if n == 0 {
		return "storage"
	}
	return Brief(*resource.NewQuantity(n, resource.BinarySI))
}
