package live

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// mend leaves out the rejected objects of a view, and reports whether to retry.
func (c *Cluster) mend(v *View, err error) bool {
	d := stowage.Details(err)
	if d.Code != codes.InvalidArgument {
		return false
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	mended, done := false, map[string]bool{}
	// Pods that are too large make their nodes too large. Rejections of such nodes are handled once their pods have been.
	for _, parts := range []*regexp.Regexp{templatePath, podPath, anyPath} {
		for _, violation := range d.Violations {
			// One field of each object: leaving that out may be enough.
			if object := objectPath.FindString(violation.Field); parts.MatchString(violation.Field) && !done[object] {
				done[object] = true
				mended = c.refuse(v.base, violation) || mended
			}
		}
		if mended {
			break
		}
	}
	if mended && c.base == v.base {
		c.base = nil
		c.model.changed = true
		c.publish()
	}
	return mended
}

var (
	templatePath = regexp.MustCompile(`^(part\.)?pod_templates\[`)
	podPath      = regexp.MustCompile(`^(part\.)?nodes\[\d+\]\.(nominated_)?pods\[`)
	objectPath   = regexp.MustCompile(`^(?:part\.)?nodes\[\d+\]\.(?:nominated_)?pods\[\d+|^[^\]]*`)
	ownPath      = regexp.MustCompile(`^\.(nominated_)?pods\[(\d+)\]`)
	anyPath      = regexp.MustCompile(``)
)

var partPath = regexp.MustCompile(`^(?:part\.)?(\w+)\[(\d+)\](.*)$`)

// refuse leaves out the object that a path leads to, and reports whether to retry.
func (c *Cluster) refuse(b *base, p stowage.Violation) bool {
	found := partPath.FindStringSubmatch(p.Field)
	if found != nil && !c.model.has(found[1]) {
		found = nil
	}
	switch {
	case found == nil && !strings.HasPrefix(p.Field, "context.snapshot.") && !strings.HasPrefix(p.Field, "delta."):
		return false // in the pod or the profile
	case c.base != b:
		return true // another request has already handled the rejection
	case found == nil || b.origins == nil:
		// A path into a delta does not lead to an object. The same field is rejected in a whole snapshot, where the path
		// does.
		return found != nil || b.origins == nil || c.model.delta(b) != nil
	}
	i, err := strconv.Atoi(found[2])
	if err != nil {
		return false
	}
	m, from, reason := c.model, b.origins, strings.TrimPrefix(found[3], ".")+": "+p.Description
	switch {
	case found[1] == "nodes" && i < len(b.names):
		if pod := ownPath.FindStringSubmatch(found[3]); pod != nil {
			j, err := strconv.Atoi(pod[2])
			return err == nil && m.refusePod(b.names[i], j, pod[1] != "", reason)
		}
		return m.refuseNode(b.names[i], reason)
	case found[1] == "node_classes" && i < len(from.classes):
		mended := false
		for _, name := range from.classes[i] {
			mended = m.refuseNode(name, reason) || mended
		}
		return mended
	case found[1] == "pod_templates" && i < b.templates:
		return m.refuseTemplate(uint32(i), strings.TrimPrefix(found[3], "."), reason)
	}
	leave := from.parts[found[1]]
	return leave != nil && leave(m, i, reason)
}

// has reports whether clusters have a list.
func (m *model) has(list string) bool {
	return list == "nodes" || list == "pod_templates" || list == "node_classes" ||
		slices.ContainsFunc(m.parts(), func(p part) bool { return p.path() == list })
}

// refuseNode reduces a node: first to its name and labels, then it leaves the node out.
func (m *model) refuseNode(name, reason string) bool {
	n := m.nodes[name]
	if n == nil || n.message == nil {
		return false
	}
	m.refused.report(m.log, "Node", name, reason)
	if less := convert.Bare(n.message); !same(n.message, less) {
		m.setNode(name, less, n.whole)
	} else {
		m.setNode(name, nil, n.whole)
	}
	return true
}

// refusePod reduces a pod on a node, or nominated to it, to its template. The pod is the i-th pod that the base lists
// individually. A nominated pod that has already been reduced only closes the node.
func (m *model) refusePod(name string, i int, nominated bool, reason string) bool {
	n := m.nodes[name]
	if n == nil {
		return true // deleted meanwhile
	}
	named, pods := n.named, m.pods
	before := m.dirty[name]
	switch {
	case nominated && before != nil:
		named, pods = before.nominated, m.nominated
	case nominated:
		named, pods = n.nominated, m.nominated
	case before != nil:
		named = before.named
	}
	// A snapshot lists them in canonical order.
	form, err := content.Append(nil, &stowagev1.Node{Pods: slices.Collect(maps.Values(named))})
	if err != nil {
		return false
	}
	ordered := &stowagev1.Node{}
	if err := proto.Unmarshal(form, ordered); err != nil || i >= len(ordered.Pods) {
		return false
	}
	for _, uid := range slices.Sorted(maps.Keys(named)) {
		p := pods[uid]
		if p == nil || p.node != name || !same(p.named, ordered.Pods[i]) {
			continue
		}
		reason += takesUnclear
		m.refused.report(m.log, "Pod", p.namespace+"/"+p.name, reason)
		m.refused.pods[uid] = refusedPod{own(p.named), reason}
		less := *p
		less.named, less.unclear = nil, true
		if nominated {
			if bare := plain(p.named.Name, p); !same(bare, p.named) {
				less.named = bare
			}
			m.nominate(uid, &less)
		} else {
			m.remove(uid)
			m.put(uid, &less)
		}
		break
	}
	return true // an unknown pod has changed meanwhile
}

// refuseTemplate reduces a template with a rejected field.
func (m *model) refuseTemplate(i uint32, field, reason string) bool {
	old := m.templates.list[i]
	key, err := encoding(old)
	if err != nil {
		return false
	}
	template, unclear, ok := convert.Less(old, field)
	if !ok {
		return false
	}
	rest := rest{template: template, unclear: unclear, reason: reason}
	if rest.key, err = encoding(template); err != nil {
		return false
	}
	if unclear {
		rest.reason += takesUnclear
	}
	m.refused.substitute(key, rest)
	to := m.templates.intern(rest.template, rest.key)
	less := func(p *pod) *pod {
		m.refused.report(m.log, "Pod", p.namespace+"/"+p.name, rest.reason)
		moved := *p
		moved.counted.template, moved.unclear = to, p.unclear || rest.unclear
		if p.named != nil {
			moved.named = onTemplate(p.named, to)
		}
		return &moved
	}
	for uid, p := range m.pods {
		if p.counted.template == i {
			m.remove(uid)
			m.put(uid, less(p))
		}
	}
	for uid, p := range m.nominated {
		if p.counted.template == i {
			m.nominate(uid, less(p))
		}
	}
	return true
}
