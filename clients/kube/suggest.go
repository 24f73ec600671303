package kube

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/suggest"
)

// Argument is the object as an argument of a command: namespace/kind/name.
func (o Origin) Argument() string {
	return o.Namespace + "/" + strings.ToLower(o.Kind) + "/" + o.Name
}

// DidYouMean returns "; did you mean ...?" with the object that an unknown NAME, KIND/NAME or NAMESPACE/KIND/NAME most likely means:
// one of this name in another namespace or of another kind, or else of the nearest name. It is empty if there is none.
func DidYouMean(text string, all iter.Seq[Origin]) string {
	name := text[strings.LastIndexByte(text, '/')+1:]
	arguments := map[string]string{} // by name
	var names []string
	for o := range all {
		if argument := o.Argument(); argument != text && arguments[o.Name] == "" {
			arguments[o.Name] = argument
			names = append(names, o.Name)
		}
	}
	argument := arguments[name]
	if argument == "" {
		argument = arguments[suggest.Nearest(name, slices.Values(names))]
	}
	if argument == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", argument)
}
