package decode

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// labels decodes an object's labels or node selector. Their syntax is not checked beyond the lengths: there are very
// many, and kube-scheduler does not check it either.
func (d *decoder) labels(at *path, field string, m map[string]string) api.Labels {
	if !d.within(at, field, len(m), MaxLabels) {
		return nil
	}
	labels := api.LabelsOf(m)
	for i := range labels {
		key, value := labels[i].Key, labels[i].Value
		switch {
		case key == "":
			d.refuse(at.entry(field, key), "has an empty key")
		case len(key) > MaxLabelKeyBytes:
			d.refuse(at.entry(field, key), "has a key of %d bytes, at most %d are allowed", len(key), MaxLabelKeyBytes)
		case len(value) > MaxLabelValueBytes:
			d.refuse(at.entry(field, key), "has a value of %d bytes, at most %d are allowed", len(value),
				MaxLabelValueBytes)
		}
	}
	return labels
}

const (
	labelKeySyntax   = "must be a label key: an optional DNS subdomain and a slash, and up to 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit"
	labelValueSyntax = "must be a label value: empty, or up to 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit"
)

// isLabelKey reports whether s is what Kubernetes calls a qualified name.
func isLabelKey(s string) bool {
	if prefix, name, ok := strings.Cut(s, "/"); ok {
		return isSubdomain(prefix) && name != "" && isLabelValue(name)
	}
	return s != "" && isLabelValue(s)
}

// isLabelValue reports whether s may be the value of a label.
func isLabelValue(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > MaxLabelValueBytes || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isSubdomain reports whether s is an RFC 1123 subdomain.
func isSubdomain(s string) bool {
	if s == "" || len(s) > MaxNameBytes {
		return false
	}
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '-' && before != '.':
		case c == '.' && before != '.' && before != '-':
		default:
			return false
		}
		before = c
	}
	return before != '.' && before != '-'
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
