package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Options are what a kong parser of the configuration needs: names of environment variables, and a loader of files.
func Options() []kong.Option {
	return []kong.Option{kong.DefaultEnvars("STOWAGE"), kong.Configuration(load)}
}

// load reads a configuration file: YAML, of which JSON is a part.
func load(r io.Reader) (kong.Resolver, error) {
	var values map[string]any
	if err := yaml.NewDecoder(r).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return file(values), nil
}

// file is what a configuration file says, by flag.
type file map[string]any

// Validate refuses keys that are no flag's, which are misspelt.
func (f file) Validate(app *kong.Application) error {
	known := make(map[string]bool)
	nodes := []*kong.Node{app.Node}
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:], n.Children...)
		for _, flag := range n.Flags {
			known[flag.Name] = flag.Name != "help" && flag.Name != "config"
		}
	}
	var unknown []string
	for key := range f {
		if !known[key] {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("configuration file: unknown keys: %s", strings.Join(unknown, ", "))
}

// Resolve gives a flag the file's value, unless the flag's environment variable is set: kong would let the file win.
func (f file) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Envs {
		if _, ok := os.LookupEnv(env); ok {
			return nil, nil
		}
	}
	switch v := f[flag.Name].(type) {
	case nil:
		return nil, nil
	case map[string]any, []any:
		return nil, fmt.Errorf("%s: must be a plain value", flag.Name)
	default:
		return fmt.Sprint(v), nil
	}
}
