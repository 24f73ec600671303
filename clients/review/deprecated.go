package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels of roles: a label for each role has replaced a label with roles as values.
const (
	role       = "kubernetes.io/role"
	rolePrefix = "node-role.kubernetes.io/"
)

// current has the replacements of deprecated labels.
var current = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	rolePrefix + "master":               rolePrefix + "control-plane",
}

// noNodeHas reports that no node has a label, and which replacements of a deprecated label nodes have.
func (r *Reviewer) noNodeHas(key string) string {
	out := "no node has the label " + key
	var there []string
	if now := current[key]; now != "" && len(r.labels[now]) > 0 {
		there = append(there, r.withValues(now))
	}
	if key == role {
		for _, now := range slices.Sorted(maps.Keys(r.labels)) {
			if strings.HasPrefix(now, rolePrefix) {
				there = append(there, r.withValues(now))
			}
		}
	}
	if len(there) == 0 {
		return out
	}
	return out + ", which is deprecated: nodes have " + list(there)
}

// withValues formats a label of nodes with its values, if it has any.
func (r *Reviewer) withValues(key string) string {
	if len(r.labels[key]) == 1 && r.labels[key][""] > 0 {
		return key
	}
	return fmt.Sprintf("%s (%s)", key, r.valuesOf(key))
}
