package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// foreign matches variables with the prefix that are not meant for the server: variables of the other commands, and variables that a
// kubelet sets for Services whose names begin with the prefix.
var foreign = regexp.MustCompile(`^` + prefix + `_(EXTENDER|BATCH|EXPANDER)_|_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP|SCTP)(_|$)|$)`)

// UnknownVariables returns environment variables with the prefix that belong to no flag, such as misspelled ones. environ is as
// os.Environ.
func UnknownVariables(app *kong.Application, environ []string) []string {
	known := map[string]bool{}
	eachFlag(app, func(f *kong.Flag) {
		for _, name := range f.Envs {
			known[name] = true
		}
	})
	var out []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, prefix+"_") && !known[name] && !foreign.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// eachFlag passes the flags of an application and of its commands.
func eachFlag(app *kong.Application, pass func(*kong.Flag)) {
	nodes := []*kong.Node{app.Node}
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:], n.Children...)
		for _, flag := range n.Flags {
			pass(flag)
		}
	}
}
