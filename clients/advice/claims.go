package advice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Bounds of what is tried for each claim: other classes, and nodes to copy.
const (
	maximumClasses = 8
	maximumModels  = 4
)

// Reasons why no patch makes a change of a claim.
var (
	errClaimSpec = errors.New("the API server refuses the change of a claim: delete it and create it with the change")
	errClassMode = errors.New("the API server refuses a change of volumeBindingMode: create another StorageClass, then the claim again with it")
	errData      = errors.New("the data of the volume is lost, unless it is copied before")
	errNewNode   = errors.New("no command or patch makes the change")
)

// claims is advice about the claims of the pods: another class, a binding mode, a smaller request, a node where the volume is, a new volume.
func (q *Question) claims(ctx context.Context) ([]Advice, error) {
	var trials []trial
	for _, c := range words.ClaimConflicts(q.Explanation) {
		switch c.GetReason() {
		case stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NODE_CONFLICT, stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE:
			there, err := q.nodeThere(c)
			if err != nil {
				return nil, err
			}
			trials = append(append(trials, there...), q.newVolume(c)...)
		case stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NOT_FOUND:
			trials = append(trials, q.newVolume(c)...)
		case stowagev1.RejectionReason_REJECTION_REASON_STORAGE_CAPACITY:
			trials = append(append(trials, q.otherClasses(c)...), q.smaller(c)...)
		default:
			trials = append(append(trials, q.waiting(c)...), q.otherClasses(c)...)
		}
	}
	all, err := q.try(ctx, trials)
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(a Advice) bool { // of nodes in a zone, the first one
		key := string(a.Kind) + a.Claim
		before := seen[key]
		seen[key] = true
		return before && a.Kind == NodeOfVolume
	}), err
}

// stored is the claims of the cluster by NAMESPACE/NAME and its volumes by name.
type stored struct {
	claims  map[string]*stowagev1.PersistentVolumeClaim
	volumes map[string]*stowagev1.PersistentVolume
}

func (q *Question) stored() *stored {
	if q.storage == nil {
		q.storage = &stored{map[string]*stowagev1.PersistentVolumeClaim{}, map[string]*stowagev1.PersistentVolume{}}
		for _, c := range q.Snapshot.Cluster.GetPersistentVolumeClaims() {
			q.storage.claims[c.GetNamespace()+"/"+c.GetName()] = c
		}
		for _, v := range q.Snapshot.Cluster.GetPersistentVolumes() {
			q.storage.volumes[v.GetName()] = v
		}
	}
	return q.storage
}

// claim returns a copy of the claim of a conflict, nil if the cluster does not have it.
func (q *Question) claim(of *stowagev1.ClaimConflict) *stowagev1.PersistentVolumeClaim {
	if c := q.stored().claims[words.ClaimName(of)]; c != nil {
		return proto.CloneOf(c)
	}
	return nil
}

// withSpec is a trial with a changed spec of the claim, or of the claim templates of its class that the pod has.
func (q *Question) withSpec(a Advice, c *stowagev1.ClaimConflict, change func(*stowagev1.PersistentVolumeClaimSpec)) []trial {
	a.Claim = words.ClaimName(c)
	if claim := q.claim(c); claim != nil {
		change(claim.Spec)
		return []trial{{Advice: a, delta: &stowagev1.ClusterDelta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{claim}}}}
	}
	pod := q.withTemplates(func(s *stowagev1.PersistentVolumeClaimSpec) bool {
		if s.GetStorageClassName() != c.GetStorageClassName() {
			return false
		}
		change(s)
		return true
	})
	if pod == nil {
		return nil
	}
	return []trial{{Advice: a, pod: pod}}
}

// otherClasses tries the other classes for a claim that has no volume.
func (q *Question) otherClasses(c *stowagev1.ClaimConflict) (out []trial) {
	if c.GetVolumeName() != "" || c.GetSelectedNode() != "" {
		return nil
	}
	for _, class := range q.Snapshot.Cluster.GetStorageClasses() {
		name := class.GetName()
		if name == c.GetStorageClassName() || name == convert.AssumedDefault || len(out) == maximumClasses {
			continue
		}
		a := Advice{
			Kind: OtherClass, Refused: errClaimSpec,
			Text: fmt.Sprintf("StorageClass %s instead of %s for %s", name, cmp.Or(c.GetStorageClassName(), "none"), words.Claim(c)),
		}
		out = append(out, q.withSpec(a, c, func(s *stowagev1.PersistentVolumeClaimSpec) { s.StorageClassName = name })...)
	}
	return out
}

// waiting tries the class of a claim with WaitForFirstConsumer.
func (q *Question) waiting(c *stowagev1.ClaimConflict) []trial {
	class := words.StorageClass(q.Snapshot.Cluster, c.GetStorageClassName())
	if class.GetVolumeBindingMode() != stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_IMMEDIATE || c.GetVolumeName() != "" {
		return nil
	}
	return []trial{{
		Advice: Advice{
			Kind: WaitingClass, Claim: words.ClaimName(c), Refused: errClassMode,
			Text: fmt.Sprintf("a class like %s with WaitForFirstConsumer instead of Immediate for %s", class.GetName(), words.Claim(c)),
		},
		delta: &stowagev1.ClusterDelta{StorageClasses: []*stowagev1.StorageClass{waitingClass(class)}},
	}}
}

func waitingClass(class *stowagev1.StorageClass) *stowagev1.StorageClass {
	out := proto.CloneOf(class)
	out.VolumeBindingMode = stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER
	return out
}

// smaller tries the largest request that a CSIStorageCapacity of the class has room for.
func (q *Question) smaller(c *stowagev1.ClaimConflict) []trial {
	most := int64(0)
	for _, room := range q.Snapshot.Cluster.GetCsiStorageCapacities() {
		if room.GetStorageClassName() == c.GetStorageClassName() {
			most = max(most, words.CapacityLimit(room))
		}
	}
	if most == 0 {
		return nil
	}
	a := Advice{
		Kind: SmallerClaim, Refused: errClaimSpec, Text: fmt.Sprintf("a request of %s storage in %s", words.Storage(most), words.Claim(c)),
	}
	return q.withSpec(a, c, func(s *stowagev1.PersistentVolumeClaimSpec) { s.StorageRequest = new(min(most, s.GetStorageRequest())) })
}

// newVolume tries a claim that is created again, and gets another volume. A class that binds at once would bind it anywhere: then it has to wait
// for the pod. Changes that keep the data are enough, if there are any.
func (q *Question) newVolume(c *stowagev1.ClaimConflict) []trial {
	claim := q.claim(c)
	class := words.StorageClass(q.Snapshot.Cluster, c.GetStorageClassName())
	if claim == nil || class == nil || len(q.Offered) > 0 {
		return nil
	}
	claim.VolumeName, claim.BindCompleted, claim.SelectedNode, claim.Uid, claim.Lost = "", false, "", "", false
	t := trial{
		Advice: Advice{
			Kind: NewVolume, Claim: words.ClaimName(c), Refused: errData,
			Text: fmt.Sprintf("%s deleted and created again, without the data of volume %s", words.Claim(c), c.GetVolumeName()),
		},
		delta: &stowagev1.ClusterDelta{PersistentVolumeClaims: []*stowagev1.PersistentVolumeClaim{claim}},
	}
	if q.stored().volumes[c.GetVolumeName()] != nil {
		t.delta.RemovedPersistentVolumes = []string{c.GetVolumeName()}
	}
	if class.GetVolumeBindingMode() == stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_IMMEDIATE {
		t.delta.StorageClasses = []*stowagev1.StorageClass{waitingClass(class)}
		t.Text += fmt.Sprintf(", with a class like %s that has WaitForFirstConsumer", class.GetName())
	}
	return []trial{t}
}

// nodeThere tries a new node that can use a volume, where no node of the cluster can. A volume of one node is lost with it.
func (q *Question) nodeThere(c *stowagev1.ClaimConflict) (out []trial, err error) {
	nodes := q.Snapshot.Cluster.GetNodes()
	labels := q.volumeLabels(c.GetVolumeName())
	if len(c.GetNodes().GetIndexes()) < len(nodes) || len(labels) == 0 {
		return nil, nil
	}
	like := map[string]bool{}
	for i, n := range nodes {
		key := fmt.Sprint(n.ClassIndex != nil, n.GetClassIndex(), n.GetAllocatable())
		if like[key] || len(out) == maximumModels {
			continue
		}
		like[key] = true
		template, err := q.Snapshot.TemplateLike(uint32(i))
		if err != nil {
			return nil, err
		}
		added := template.GetNode()
		added.Name, added.Labels = q.newName(n.GetName()), maps.Clone(added.Labels)
		for _, key := range append(template.NameLabelKeys, corev1.LabelHostname) {
			if _, has := added.Labels[key]; has {
				added.Labels[key] = added.Name
			}
		}
		if added.Labels == nil {
			added.Labels = map[string]string{}
		}
		maps.Copy(added.Labels, labels)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			all = append(all, key+"="+labels[key])
		}
		out = append(out, trial{
			Advice: Advice{
				Kind: NodeOfVolume, Claim: words.ClaimName(c), Refused: errNewNode,
				Text: fmt.Sprintf("one more node like %s with %s, where volume %s is", n.GetName(), words.Names(all), c.GetVolumeName()),
			},
			delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{added}}, added: true,
		})
	}
	return out, nil
}

// newName returns a name that no node has.
func (q *Question) newName(like string) string {
	name := like
	for i := 1; slices.ContainsFunc(q.Snapshot.Cluster.GetNodes(), func(n *stowagev1.Node) bool { return n.GetName() == name }); i++ {
		name = fmt.Sprintf("%s-%d", like[:min(len(like), 240)], i)
	}
	return name
}

// volumeLabels returns labels of nodes with which they can use a volume; nil if these are the name of a node, or not known.
func (q *Question) volumeLabels(name string) map[string]string {
	out, v := map[string]string{}, q.stored().volumes[name]
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		if value := v.GetLabels()[key]; value != "" {
			out[key] = value
		}
	}
	terms := cmp.Or(v.GetNodeAffinity(), v.GetMigratedNodeAffinity()).GetTerms()
	if len(terms) == 0 {
		return out
	}
	for _, r := range terms[0].GetMatchExpressions() {
		if r.GetKey() == corev1.LabelHostname || r.GetOperator() != stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN {
			return nil
		}
		out[r.GetKey()] = r.GetValues()[0]
	}
	return out
}
