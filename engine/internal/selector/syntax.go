package selector

import (
	"fmt"
	"strings"
)

// The syntax of label keys and values, and kube-scheduler's texts for invalid ones
// (k8s.io/apimachinery/pkg/api/validate/content/kube.go and dns.go, v0.37).

const (
	maxNameBytes      = 63
	maxSubdomainBytes = 253

	alphanumericEnds = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
	nameSyntax       = alphanumericEnds + " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	valueSyntax      = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character" +
		" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	subdomainSyntax = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character" +
		" (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

func tooLong(limit int) string { return fmt.Sprintf("must be no more than %d bytes", limit) }

// labelValueErrors returns the errors of a label value, nil for none.
func labelValueErrors(s string) []string {
	var errs []string
	if len(s) > maxNameBytes {
		errs = append(errs, tooLong(maxNameBytes))
	}
	if s != "" && !isName(s) {
		errs = append(errs, valueSyntax)
	}
	return errs
}

// labelKeyErrors returns the errors of a label key, nil for none.
func labelKeyErrors(s string) []string {
	var errs []string
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		name = s
	} else if strings.Contains(name, "/") {
		return []string{"a valid label key " + nameSyntax + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	}
	if prefixed {
		if prefix == "" {
			errs = append(errs, "prefix part must be non-empty")
		} else {
			if len(prefix) > maxSubdomainBytes {
				errs = append(errs, "prefix part "+tooLong(maxSubdomainBytes))
			}
			if !isSubdomain(prefix) {
				errs = append(errs, "prefix part "+subdomainSyntax)
			}
		}
	}
	switch {
	case name == "":
		errs = append(errs, "name part must be non-empty")
	case len(name) > maxNameBytes:
		errs = append(errs, "name part "+tooLong(maxNameBytes))
	}
	if !isName(name) {
		errs = append(errs, "name part "+nameSyntax)
	}
	return errs
}

// IsLabel reports whether an object may have a label.
func IsLabel(key, value string) bool { return len(labelKeyErrors(key)) == 0 && validLabelValue(value) }

// validLabelValue reports whether s is a valid label value.
func validLabelValue(s string) bool { return s == "" || len(s) <= maxNameBytes && isName(s) }

// isName reports whether s consists of letters, digits, dashes, underscores and dots, the first and the last a letter or
// digit.
func isName(s string) bool {
	if s == "" || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isSubdomain reports whether s is labels joined by dots. A label consists of lower-case letters, digits and dashes,
// the first and the last a letter or digit.
func isSubdomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && !('a' <= c && c <= 'z') && !('0' <= c && c <= '9') {
				return false
			}
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
