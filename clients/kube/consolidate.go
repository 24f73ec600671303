package kube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// capacityTypeLabel is Karpenter's label for how a node is paid for (karpenter.sh/v1, v1.15.0).
const capacityTypeLabel = "karpenter.sh/capacity-type"

// ConsolidateRequest returns a request for nodes to remove or replace, of the named nodes, all of the cluster if none is
// named. Its response names nodes. Nodes without a price stay, and are returned.
//
// The price of a node is in its annotation NodePriceAnnotation. Without one it is that of the templates with the node's label
// node.kubernetes.io/instance-type; of the labels topology.kubernetes.io/zone and karpenter.sh/capacity-type, a template has the
// node's or none. If these have several prices, the node has none.
func (s *Snapshot) ConsolidateRequest(nodes []string) (r *stowagev1.ConsolidateRequest, unpriced []string, err error) {
	chosen, err := s.Candidates(nodes)
	if err != nil {
		return nil, nil, err
	}
	byPrice := map[uint64][]string{}
	for i, n := range s.Cluster.Nodes {
		if chosen != nil && !slices.Contains(chosen.Names, n.Name) {
			continue
		}
		price, known, err := s.priceOf(s.nodes[i])
		if err != nil {
			return nil, nil, err
		}
		if !known {
			unpriced = append(unpriced, n.Name)
			continue
		}
		byPrice[price] = append(byPrice[price], n.Name)
	}
	if len(byPrice) == 0 {
		return nil, nil, fmt.Errorf("no node has a price: in the annotation %s, or as that of a template with its label %s",
			NodePriceAnnotation, corev1.LabelInstanceTypeStable)
	}
	r = &stowagev1.ConsolidateRequest{Context: s.context(), Templates: s.NodeTemplates}
	for _, price := range slices.Sorted(maps.Keys(byPrice)) {
		r.Candidates = append(r.Candidates, &stowagev1.PricedNodes{
			Nodes: &stowagev1.CandidateNodes{Names: byPrice[price]}, Price: price,
		})
	}
	return r, unpriced, nil
}

// priceOf returns the price of a node, if it is known.
func (s *Snapshot) priceOf(n *corev1.Node) (price uint64, known bool, err error) {
	if stated, found := n.Annotations[NodePriceAnnotation]; found {
		if price, err = strconv.ParseUint(stated, 10, 64); err != nil {
			return 0, false, fmt.Errorf("Node %s: metadata.annotations[%s]: %q is not a whole number, 0 or more",
				n.Name, NodePriceAnnotation, stated)
		}
		return price, true, nil
	}
	of := n.Labels[corev1.LabelInstanceTypeStable]
	if of == "" {
		return 0, false, nil
	}
	for _, t := range s.NodeTemplates {
		labels := t.GetNode().GetLabels()
		same := labels[corev1.LabelInstanceTypeStable] == of
		for _, key := range []string{corev1.LabelTopologyZone, capacityTypeLabel} {
			value, found := labels[key]
			same = same && (!found || value == n.Labels[key])
		}
		switch {
		case !same:
		case known && t.GetPrice() != price:
			return 0, false, nil
		default:
			price, known = t.GetPrice(), true
		}
	}
	return price, known, nil
}
