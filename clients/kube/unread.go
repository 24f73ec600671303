package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumUnread is the contract's limit of unread fields per pod.
const maximumUnread = 1000

// Effects in kube-scheduler v1.37 of fields that the contract does not have.
const (
	readsClaim = "kube-scheduler only takes a node that can use the claim's volume " +
		"(VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits)"
	readsDisk         = "kube-scheduler takes no node where another pod uses the same disk (VolumeRestrictions)"
	readsMigrated     = "kube-scheduler takes no node that has as many volumes as its CSI driver can attach (NodeVolumeLimits)"
	readsDiskMigrated = "kube-scheduler takes no node where another pod uses the same disk, or that has as many volumes as its " +
		"CSI driver can attach (VolumeRestrictions, NodeVolumeLimits)"
	readsDevices  = "kube-scheduler only takes a node that has the devices of the claim (DynamicResources)"
	readsExtended = "kube-scheduler serves this resource with devices of the DeviceClass %s where a node has it not in its " +
		"allocatable (DynamicResources)"
	readsFeature = "kube-scheduler only takes a node that declares the feature %s (NodeDeclaredFeatures)"
	readsRuntime = "the API server adds the RuntimeClass's overhead, nodeSelector and tolerations to the pod, which " +
		"kube-scheduler then reads"
	readsPriorityClass = "the API server gives the pod the PriorityClass's value as its priority and the class's preemptionPolicy, " +
		"by which kube-scheduler orders its queue, counts nominated pods and preempts"
)

// volumeSources are the kinds of volumes that kube-scheduler reads, by their field in a volume, and why
// (pkg/scheduler/framework/plugins/volumerestrictions and nodevolumelimits, v1.37; inline volumes count against the limits
// of a CSI driver that they are migrated to). The contract has image volumes.
var volumeSources = []struct {
	name, consequence string
	has               func(*corev1.VolumeSource) bool
}{
	{"persistentVolumeClaim", readsClaim, func(s *corev1.VolumeSource) bool { return s.PersistentVolumeClaim != nil }},
	{"ephemeral", readsClaim, func(s *corev1.VolumeSource) bool { return s.Ephemeral != nil }},
	{"gcePersistentDisk", readsDiskMigrated, func(s *corev1.VolumeSource) bool { return s.GCEPersistentDisk != nil }},
	{"awsElasticBlockStore", readsDiskMigrated, func(s *corev1.VolumeSource) bool { return s.AWSElasticBlockStore != nil }},
	{"iscsi", readsDisk, func(s *corev1.VolumeSource) bool { return s.ISCSI != nil }},
	{"rbd", readsDisk, func(s *corev1.VolumeSource) bool { return s.RBD != nil }},
	{"azureDisk", readsMigrated, func(s *corev1.VolumeSource) bool { return s.AzureDisk != nil }},
	{"azureFile", readsMigrated, func(s *corev1.VolumeSource) bool { return s.AzureFile != nil }},
	{"cinder", readsMigrated, func(s *corev1.VolumeSource) bool { return s.Cinder != nil }},
	{"portworxVolume", readsMigrated, func(s *corev1.VolumeSource) bool { return s.PortworxVolume != nil }},
	{"vsphereVolume", readsMigrated, func(s *corev1.VolumeSource) bool { return s.VsphereVolume != nil }},
}

// declaredFeatures are the paths, in the pod's spec, of features that a node must declare.
var declaredFeatures = map[string]string{
	"RestartAllContainersOnContainerExits": "containers[].restartPolicyRules",
	"UserNamespacesHostNetworkSupport":     "hostUsers",
	"VolumeBindMountOptions":               "containers[].volumeMounts[].bindMountOptions",
}

// release is the Kubernetes release whose rules apply.
var release = version.MustParseSemantic("v1.37.1")

// unreads collects the unread fields of one object.
type unreads struct {
	object Origin
	fields []*stowagev1.UnreadField
}

func (u *unreads) add(path *field.Path, consequence string) {
	u.fields = append(u.fields, &stowagev1.UnreadField{Object: u.object.String(), Field: path.String(), Consequence: consequence})
}

// unreadIn returns the fields of a pending pod that kube-scheduler reads and the contract does not have, as far as the pod
// itself shows them, and the classes that were not added.
func (a *admission) unreadIn(f facts, p *corev1.Pod, converted *stowagev1.PodSpec) []*stowagev1.UnreadField {
	u := &unreads{object: f.object}
	s, path, claims := &p.Spec, f.path, f.stamp.claims
	for i := range s.Volumes {
		for _, source := range volumeSources {
			if !source.has(&s.Volumes[i].VolumeSource) {
				continue
			}
			at := path.Child("volumes").Index(i - claims).Child(source.name)
			if i < claims {
				at = field.NewPath("spec", "volumeClaimTemplates").Index(i)
			}
			u.add(at, source.consequence)
		}
	}
	for i := range s.ResourceClaims {
		u.add(path.Child("resourceClaims").Index(i), readsDevices)
	}
	u.devices(converted, path, nil)
	u.features(s, path)
	if f.stamp.adds != "" {
		u.add(path, f.stamp.adds)
	}
	if !admitted(p) {
		if s.RuntimeClassName != nil && *s.RuntimeClassName != "" && a.runtimeClass(s) == nil {
			u.add(path.Child("runtimeClassName"), readsRuntime)
		}
		if s.PriorityClassName != "" && s.Priority == nil {
			u.add(path.Child("priorityClassName"), readsPriorityClass)
		}
	}
	if len(u.fields) > maximumUnread {
		u.fields = u.fields[:maximumUnread]
	}
	return u.fields
}

// features adds the features that a node has to declare, which kube-scheduler infers with the same package.
func (u *unreads) features(s *corev1.PodSpec, path *field.Path) {
	framework := nodedeclaredfeatures.DefaultFramework
	needed, err := framework.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: s}, release)
	if err != nil || needed.IsEmpty() {
		return
	}
	names, _ := framework.Unmap(needed)
	for _, name := range names {
		at := path
		if known, ok := declaredFeatures[name]; ok {
			at = path.Child(known)
		}
		u.add(at, fmt.Sprintf(readsFeature, name))
	}
}

// ServedByDevices returns the requests of a pending pod that DeviceClasses serve. classes are the names of DeviceClasses by
// extended resource, not nil.
func ServedByDevices(p *corev1.Pod, converted *stowagev1.Pod, classes map[string]string) []*stowagev1.UnreadField {
	u := &unreads{object: podOrigin(p)}
	u.devices(converted.GetTemplate().GetSpec(), specPath, classes)
	return u.fields
}

// devices adds the requested resources that a DeviceClass serves: those of classes, by resource, and those that have a
// class's name (k8s.io/api/resource/v1 ResourceDeviceClassPrefix).
func (u *unreads) devices(s *stowagev1.PodSpec, path *field.Path, classes map[string]string) {
	seen := map[string]bool{}
	list := func(cs []*stowagev1.Container, containers string) {
		for i, c := range cs {
			if len(c.Requests.GetScalars()) == 0 {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(c.Requests.Scalars)) {
				class, ok := classes[name]
				if !ok && classes == nil {
					class, ok = strings.CutPrefix(name, resourcev1.ResourceDeviceClassPrefix)
				}
				if ok && c.Requests.Scalars[name] > 0 && !seen[name] {
					seen[name] = true
					u.add(path.Child(containers).Index(i).Child("resources", "requests").Key(name), fmt.Sprintf(readsExtended, class))
				}
			}
		}
	}
	list(s.Containers, "containers")
	list(s.InitContainers, "initContainers")
}
