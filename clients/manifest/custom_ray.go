package manifest

import (
	"fmt"
	"maps"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// rayOrigin is the label with the name of the resource that owns a RayCluster.
const rayOrigin = "ray.io/originated-from-cr-name"

type rayCluster struct {
	Autoscaling bool `json:"enableInTreeAutoscaling"`
	Suspend     bool `json:"suspend"`
	Head        struct {
		Labels   map[string]string `json:"labels"`
		Template rawTemplate       `json:"template"`
	} `json:"headGroupSpec"`
	Workers []struct {
		GroupName   string            `json:"groupName"`
		Replicas    *int32            `json:"replicas"`
		MinReplicas *int32            `json:"minReplicas"`
		MaxReplicas *int32            `json:"maxReplicas"`
		NumOfHosts  *int32            `json:"numOfHosts"`
		Suspend     bool              `json:"suspend"`
		Labels      map[string]string `json:"labels"`
		Template    rawTemplate       `json:"template"`
	} `json:"workerGroupSpecs"`
}

func rayClusterParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[rayCluster](c)
	if err != nil {
		return nil, err
	}
	return spec.parts(c, "spec", c.Name)
}

// rayJobParts reads a RayJob: a RayCluster unless it uses an existing one, and the pod that submits the job
// (kuberay, ray-operator/controllers/ray/rayjob_controller.go).
func rayJobParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		Cluster  *rayCluster       `json:"rayClusterSpec"`
		Selector map[string]string `json:"clusterSelector"`
		Mode     string            `json:"submissionMode"`
	}](c)
	adds := ""
	switch spec.Mode {
	case "HTTPMode", "InteractiveMode":
	case "SidecarMode":
		adds = "the controller adds a container that submits the job to the head, whose requests are not read"
	default:
		adds = "the controller also creates a pod that submits the job, which is not read"
	}
	if err == nil && spec.Cluster == nil && len(spec.Selector) > 0 && adds == "" {
		return nil, nil
	}
	switch {
	case err != nil:
		return nil, err
	case spec.Cluster == nil && len(spec.Selector) > 0:
		return nil, undecided("a clusterSelector")
	case spec.Cluster == nil:
		return nil, undecided("no rayClusterSpec")
	}
	out, err := spec.Cluster.parts(c, "spec.rayClusterSpec", c.Name)
	if len(out) > 0 && out[0].Adds == "" {
		out[0].Adds = adds
	}
	return out, err
}

func rayServiceParts(c *custom) ([]controller.CustomPart, error) {
	spec, err := specOf[struct {
		Cluster *rayCluster `json:"rayClusterConfig"`
	}](c)
	if err != nil {
		return nil, err
	}
	if spec.Cluster == nil {
		return nil, undecided("no rayClusterConfig")
	}
	return spec.Cluster.parts(c, "spec.rayClusterConfig", c.Name)
}

// parts reads the head and the groups of workers.
func (r *rayCluster) parts(c *custom, path, cluster string) ([]controller.CustomPart, error) {
	if r.Suspend {
		return nil, nil
	}
	head := template{path + ".headGroupSpec.template", r.Head.Template.RawMessage}
	part, err := rayPart(c, head, rayGroup{cluster, "head", "headgroup"}, r.Head.Labels)
	if err != nil {
		return nil, err
	}
	part.Pods.Name, part.Pods.Replicas = cluster+"-head", 1
	if r.Autoscaling {
		part.Adds = "the controller adds a container with the autoscaler to the head"
	}
	out := []controller.CustomPart{part}
	for i, w := range r.Workers {
		if w.Suspend {
			continue
		}
		at := fmt.Sprintf("%s.workerGroupSpecs[%d]", path, i)
		n, least := int32(0), int32(0)
		if w.MinReplicas != nil {
			least = *w.MinReplicas
		}
		if w.Replicas != nil {
			n = *w.Replicas
		}
		if n = max(n, least); w.MaxReplicas != nil {
			n = min(n, *w.MaxReplicas)
		}
		hosts := orOne(w.NumOfHosts)
		if err := tooMany(at+".replicas", n); err != nil {
			return nil, err
		}
		if err := tooMany(at+".numOfHosts", hosts); err != nil {
			return nil, err
		}
		part, err := rayPart(c, template{at + ".template", w.Template.RawMessage}, rayGroup{cluster, "worker", w.GroupName}, w.Labels)
		if err != nil {
			return nil, err
		}
		part.Pods.Name, part.Pods.Replicas = cluster+"-"+w.GroupName+"-worker", n*hosts
		part.Initial = requests("200m", "256Mi")
		out = append(out, part)
	}
	return out, nil
}

// rayGroup is the pods of a group of a cluster, and whether they are heads or workers.
type rayGroup struct{ cluster, nodeType, group string }

func rayPart(c *custom, t template, g rayGroup, own map[string]string) (controller.CustomPart, error) {
	pods, err := t.read()
	labels := map[string]string{
		"ray.io/cluster": g.cluster, "ray.io/node-type": g.nodeType, "ray.io/group": g.group, "ray.io/is-ray-node": "yes",
		"ray.io/identifier": g.cluster + "-" + g.nodeType, "app.kubernetes.io/name": "kuberay",
		"app.kubernetes.io/created-by": "kuberay-operator",
	}
	maps.Copy(labels, own)
	if c.Kind != "RayCluster" {
		labels[rayOrigin] = c.Name
	}
	return controller.CustomPart{Path: t.path, Pods: &controller.CustomPods{Template: pods, Labels: labels}}, err
}
