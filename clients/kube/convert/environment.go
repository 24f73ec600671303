package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/admission"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Effects of unread fields of other objects on a pod.
const (
	readsGroupClaims = "kube-scheduler only takes nodes that have the devices of the claim (DynamicResources)"
	readsComposite   = "kube-scheduler places the groups of a composite pod group together, and preempts their pods by its priority and " +
		"its disruption mode"
	readsRunning = "the API server changes what the pod, which is on a node, occupies there"
)

// Environment is what the conversion of a pod depends on besides the pod: the API server's admission plugins, and the objects that
// decide which fields of the pod are unread. The zero value has no such objects.
type Environment struct {
	admission.Plugins
	storage       *Storage                            // nil: no storage objects are read
	devices       *Devices                            // nil: no objects of devices are read
	deviceClasses map[string]string                   // by extended resource name
	groups        map[string][]*stowagev1.UnreadField // by the group's name
	running       *stowagev1.UnreadField              // of the first pod on a node that AddRunning recorded, nil for none
	moreRunning   int                                 // further such pods
}

// Source is a pod to convert, and its origin.
type Source struct {
	Object object.Origin
	// Path is the path of the pod's spec in the object.
	Path *field.Path
	Pod  *corev1.Pod
	// Claims are the volume claim templates that the pod's first volumes come from.
	Claims []corev1.PersistentVolumeClaim
	// Named says that the pod has the name that it has in the cluster, by which controllers name its claims.
	Named bool
	// Pending says that the pod is pending, also if it names a node.
	Pending bool
	// Adds is what the controller adds to a template without showing it, and the consequence.
	Adds string
}

// PodGroup is the name of the pod's group in requests, empty if it is in none.
func (s *Source) PodGroup() string { return PodGroupName(s.Pod) }

// NewEnvironment returns an Environment to which objects can be added.
func NewEnvironment(s *Storage, d *Devices) Environment {
	return Environment{Plugins: admission.New(), storage: s, devices: d, deviceClasses: map[string]string{}, groups: map[string][]*stowagev1.UnreadField{}}
}

// AddDeviceClass adds a DeviceClass. Pods that request its extended resource have an unread field if devices are not read.
func (e *Environment) AddDeviceClass(c *resourcev1.DeviceClass) {
	if e.devices != nil {
		e.devices.AddClass(c)
	}
	if name := c.Spec.ExtendedResourceName; name != nil {
		e.deviceClasses[*name] = c.Name
	}
}

// AddPodGroup adds the unread fields of a PodGroup to its pods.
func (e *Environment) AddPodGroup(g *skew.PodGroup) {
	u := &unreads{object: object.Of("PodGroup", g)}
	for i := range g.Spec.ResourceClaims {
		u.add(field.NewPath("spec", "resourceClaims").Index(i), readsGroupClaims)
	}
	if g.Spec.ParentCompositePodGroupName != nil {
		u.add(field.NewPath("spec", "parentCompositePodGroupName"), readsComposite)
	}
	e.groups[object.Namespace(g)+"/"+g.Name] = u.fields
}

// AddRunning records a pod on a node that would occupy more after admission than it requests.
func (e *Environment) AddRunning(of Source) {
	if s := &of.Pod.Spec; object.Admitted(of.Pod) || s.RuntimeClassName == nil || *s.RuntimeClassName == "" || e.RuntimeClass(s) != nil {
		return
	}
	if e.running == nil {
		e.running = &stowagev1.UnreadField{Object: of.Object.String(), Field: "spec.runtimeClassName", Consequence: readsRunning}
		return
	}
	e.moreRunning++
	e.running.Consequence = fmt.Sprintf("%s (and so with %d more)", readsRunning, e.moreRunning)
}

// PendingPod converts a pending pod as the API server would store it, with a template of its own, without claims and disks, which
// AddClaims adds. Its unread fields do not depend on other objects.
func (e *Environment) PendingPod(of Source) (*stowagev1.Pod, error) {
	pod, err := e.Stored(of.Pod)
	if err != nil {
		return nil, fmt.Errorf("the API server rejects the pod: %w", err)
	}
	c := &converter{}
	out := c.pod(pod, of.Path, skew.RequestOptions{})
	spec := out.GetTemplate().Spec
	spec.NodeName = pod.Spec.NodeName
	out.NominatedNodeName = pod.Status.NominatedNodeName
	out.Unread = e.unread(of, pod)
	return out, c.err()
}

// podSource returns a pod of a cluster as the object that states it.
func podSource(p *corev1.Pod) Source {
	return Source{Object: object.OfPod(p), Path: SpecPath, Pod: p, Named: p.Name != ""}
}

// PodWithClaims is PendingPod and AddClaims for a pod that is an object of its own.
func (e *Environment) PodWithClaims(p *corev1.Pod) (*stowagev1.Pod, error) {
	of := podSource(p)
	out, err := e.PendingPod(of)
	if err == nil {
		e.AddClaims(out, of)
	}
	return out, err
}

// RunningPod converts a pod on a node completely, so that it shares its template with pending pods. If that fails, it converts
// as OccupyingPod does. A pod without a uid is on its node even if admission plugins would reject it.
func (e *Environment) RunningPod(p *corev1.Pod) Occupant {
	of := podSource(p)
	p, _ = e.Stored(p)
	out := Occupant{}
	var err error
	if out.Pod, err = onNode(p); err != nil {
		out = occupying(p)
	}
	e.SetClaims(out.Pod, of)
	return out
}

// SetUnread sets all unread fields of a converted pod on a node, and its claims and disks.
func (e *Environment) SetUnread(out *stowagev1.Pod, of Source) {
	out.Unread = e.unread(of, e.StoredOrGiven(of.Pod))
	e.AddClaims(out, of)
	e.Complete(out, of)
}

// Complete adds the unread fields of a converted pod that depend on other objects.
func (e *Environment) Complete(out *stowagev1.Pod, of Source) {
	u := &unreads{object: of.Object, fields: out.Unread}
	if e.devices.unread() != "" {
		u.devices(out.GetTemplate().GetSpec(), of.Path, readsExtended, servedBy(e.deviceClasses))
	}
	u.fields = append(u.fields, e.groups[of.PodGroup()]...)
	if e.running != nil {
		u.fields = append(u.fields, e.running)
	}
	out.Unread = u.fields[:min(len(u.fields), maximumUnread)]
}

// maximumUnread is the contract's limit of unread fields per pod.
const maximumUnread = 1000

// Effects in kube-scheduler v1.37 of fields that the contract does not have.
const (
	readsClaim = "kube-scheduler only takes a node that can use the claim's volume " +
		"(VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits)"
	readsNoNode  = "kube-scheduler takes no node as long as the claim's annotation " + selectedNodeAnnotation + " is empty (VolumeBinding)"
	readsBound   = "no PersistentVolume was read: " + readsClaim
	readsClass   = "the StorageClass was not read: a volume is assumed to be provisioned for any node (VolumeBinding)"
	readsMissing = "no PersistentVolumeClaim was read: a volume is assumed to be provisioned for any node (VolumeBinding)"
	readsOthers  = "of some pods on nodes no PersistentVolumeClaim was read: their volumes count against the limits of nodes, too (NodeVolumeLimits)"

	readsDisk         = "kube-scheduler takes no node where another pod uses the same disk (VolumeRestrictions)"
	readsMigrated     = "kube-scheduler takes no node that has as many volumes as its CSI driver can attach (NodeVolumeLimits)"
	readsDiskMigrated = "kube-scheduler takes no node where another pod uses the same disk, or that has as many volumes as its " +
		"CSI driver can attach (VolumeRestrictions, NodeVolumeLimits)"
	readsDevices  = "kube-scheduler only takes a node that has the devices of the claim (DynamicResources)"
	readsExtended = "kube-scheduler serves this resource with devices of the DeviceClass %s where a node has it not in its " +
		"allocatable (DynamicResources)"
	readsLacked  = "the DeviceClass %s was not read: kube-scheduler serves this resource with devices of the class (DynamicResources)"
	readsFeature = "kube-scheduler only takes a node that declares the feature %s (NodeDeclaredFeatures)"
	readsRuntime = "the API server adds the RuntimeClass's overhead, nodeSelector and tolerations to the pod, which " +
		"kube-scheduler then reads"
	readsPriorityClass = "the API server gives the pod the PriorityClass's value as its priority and the class's preemptionPolicy, " +
		"by which kube-scheduler orders its queue, counts nominated pods and preempts"
)

// volumeSource is a kind of volumes that kube-scheduler reads, by its field in a volume, and why.
type volumeSource struct {
	name, consequence string
	has               func(*corev1.VolumeSource) bool
}

// volumeSources are the kinds of volumes that kube-scheduler reads (pkg/scheduler/framework/plugins/volumerestrictions and
// nodevolumelimits, v1.37; of the volumes in the Kubernetes tree, only the ones in migrated count against the limits of a CSI driver).
var volumeSources = []volumeSource{
	{"persistentVolumeClaim", readsClaim, func(s *corev1.VolumeSource) bool { return s.PersistentVolumeClaim != nil }},
	{"ephemeral", readsClaim, func(s *corev1.VolumeSource) bool { return s.Ephemeral != nil }},
	{"gcePersistentDisk", readsDiskMigrated, func(s *corev1.VolumeSource) bool { return s.GCEPersistentDisk != nil }},
	{"awsElasticBlockStore", readsDiskMigrated, func(s *corev1.VolumeSource) bool { return s.AWSElasticBlockStore != nil }},
	{"iscsi", readsDisk, func(s *corev1.VolumeSource) bool { return s.ISCSI != nil }},
	{"rbd", readsDisk, func(s *corev1.VolumeSource) bool { return s.RBD != nil }},
	{"azureDisk", readsMigrated, func(s *corev1.VolumeSource) bool { return s.AzureDisk != nil }},
	{"cinder", readsMigrated, func(s *corev1.VolumeSource) bool { return s.Cinder != nil }},
	{"portworxVolume", readsMigrated, func(s *corev1.VolumeSource) bool { return s.PortworxVolume != nil }},
}

// sourceOf returns the kind of a volume, nil if kube-scheduler does not read the volume.
func sourceOf(v *corev1.Volume) *volumeSource {
	i := slices.IndexFunc(volumeSources, func(s volumeSource) bool { return s.has(&v.VolumeSource) })
	if i < 0 {
		return nil
	}
	return &volumeSources[i]
}

// requiredFeatures are the paths, in the pod's spec, of features that a node must declare.
var requiredFeatures = map[string]string{
	"RestartAllContainersOnContainerExits": "containers[].restartPolicyRules",
	"UserNamespacesHostNetworkSupport":     "hostUsers",
	"VolumeBindMountOptions":               "containers[].volumeMounts[].bindMountOptions",
}

// unreads collects the unread fields of one object.
type unreads struct {
	object object.Origin
	fields []*stowagev1.UnreadField
}

func (u *unreads) add(path *field.Path, consequence string) {
	u.fields = append(u.fields, &stowagev1.UnreadField{Object: u.object.String(), Field: path.String(), Consequence: consequence})
}

// unread returns the fields of a stored pod, except volumes and devices, that kube-scheduler reads and the contract does not have, as far as the
// pod itself shows them, and the classes that were not added.
func (e *Environment) unread(of Source, p *corev1.Pod) []*stowagev1.UnreadField {
	u := &unreads{object: of.Object}
	s, path := &p.Spec, of.Path
	if !skew.HasDeclaredFeatures() {
		u.features(s, path)
	}
	if of.Adds != "" {
		u.add(path, of.Adds)
	}
	if !object.Admitted(p) {
		if s.RuntimeClassName != nil && *s.RuntimeClassName != "" && e.RuntimeClass(s) == nil {
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

// features adds the features that a node has to declare, as kube-scheduler infers them. They are unread where the importing module's
// release lacks the features of nodes.
func (u *unreads) features(s *corev1.PodSpec, path *field.Path) {
	for _, name := range skew.RequiredFeatures(s) {
		at := path
		if known, ok := requiredFeatures[name]; ok {
			at = path.Child(known)
		}
		u.add(at, fmt.Sprintf(readsFeature, name))
	}
}

// ServedByDevices returns the requests of a pending pod that DeviceClasses serve. classes are the names of DeviceClasses by
// extended resource.
func ServedByDevices(p *corev1.Pod, converted *stowagev1.Pod, classes map[string]string) []*stowagev1.UnreadField {
	u := &unreads{object: object.OfPod(p)}
	u.devices(converted.GetTemplate().GetSpec(), SpecPath, readsExtended, servedBy(classes))
	return u.fields
}

// servedBy returns the class of an extended resource by a map.
func servedBy(classes map[string]string) func(resource string) (class string, served bool) {
	return func(resource string) (class string, served bool) {
		class, served = classes[resource]
		return class, served
	}
}

// impliedClass returns the class in the name of an extended resource (k8s.io/api/resource/v1 ResourceDeviceClassPrefix).
func impliedClass(resource string) (class string, served bool) {
	return strings.CutPrefix(resource, resourcev1.ResourceDeviceClassPrefix)
}

// devices adds the requested resources that a DeviceClass serves, with a consequence that names the class.
func (u *unreads) devices(s *stowagev1.PodSpec, path *field.Path, consequence string, served func(resource string) (class string, served bool)) {
	seen := map[string]bool{}
	list := func(cs []*stowagev1.Container, containers string) {
		for i, c := range cs {
			if len(c.Requests.GetScalars()) == 0 {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(c.Requests.Scalars)) {
				if class, ok := served(name); ok && c.Requests.Scalars[name] > 0 && !seen[name] {
					seen[name] = true
					u.add(path.Child(containers).Index(i).Child("resources", "requests").Key(name), fmt.Sprintf(consequence, class))
				}
			}
		}
	}
	list(s.Containers, "containers")
	list(s.InitContainers, "initContainers")
}
