package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Alike returns what a pod whose claims nobody else knows has in common with pods of other names: all its volumes are claims that wait
// for the pod's node, no volume of the cluster meets them, and no pod uses them. Pods with equal labels and templates and equal results
// are then evaluated alike as long as each of them is alike when it is evaluated. ok is false for other pods.
func (s *State) Alike(p *Pending) (specs string, ok bool) {
	claims := s.ClaimsOf(p)
	if len(claims.Delayed) != len(p.Volumes) {
		return "", false
	}
	var key []byte
	for i := range claims.Delayed {
		c := &claims.Delayed[i]
		own := c.Of.OfPod || c.Of.Ephemeral
		if !own || c.Claim.Name == "" || c.Spec.AccessModes.ReadWriteOncePod || c.Object != nil && !usable(c, p) {
			return "", false
		}
		if slices.ContainsFunc(claims.Delayed[:i], func(d PodClaim) bool { return d.Claim == c.Claim }) {
			return "", false
		}
		key = appendClaimSpec(key, c.Spec)
	}
	of := s.foundFor(claims.Delayed)
	if of == nil || slices.ContainsFunc(of.claims, func(c boundTo) bool { return c.found != nil || c.capacities != nil }) {
		return "", false
	}
	for _, a := range s.AttachmentsOf(p.Volumes) {
		if by := s.AttachedBy(a.Driver); by.Limits() != nil && len(by.Users(nil, a.Handle)) > 0 {
			return "", false
		}
	}
	return string(key), true
}

// usable reports whether kube-scheduler does not reject the pod because of a claim that exists.
func usable(c *PodClaim, p *Pending) bool {
	return !c.Object.Lost && !c.Object.Terminating && (!c.Of.Ephemeral || c.Object.ControllerPod == p.Name)
}

// Nameless returns a pod that is evaluated as the pods that are like one, whatever their names are.
func (s *State) Nameless(p *Pending) *Pending {
	template := *p.Template
	template.Spec.Volumes = slices.Clone(template.Spec.Volumes)
	claims := s.ClaimsOf(p)
	for i := range claims.Delayed {
		of := *claims.Delayed[i].Of
		of.Template = claims.Delayed[i].Spec
		template.Spec.Volumes[i].Claim = &of
	}
	return s.Compile(&api.Pod{Template: &template, TemplateIndex: -1, Labels: p.Pod.Labels, Terminating: p.Pod.Terminating})
}

// Shares reports whether a node has a volume of a pod attached already: the pod attaches fewer volumes there than elsewhere.
func (s *State) Shares(p *Pending, node uint32) bool {
	if len(p.Volumes) == 0 {
		return false
	}
	for _, a := range s.AttachmentsOf(p.Volumes) {
		by := s.AttachedBy(a.Driver)
		if by.Limits() != nil && a.Handle != "" && (by.UsedOn(node, a.Handle) || by.Holds(node, a.Handle)) {
			return true
		}
	}
	return false
}
