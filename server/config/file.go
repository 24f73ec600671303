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

// prefix is the prefix of environment variables, without an underscore.
const prefix = "STOWAGE"

// Options returns the kong options for the environment variables' prefix, the configuration file and sizes with units.
func Options() []kong.Option {
	return []kong.Option{kong.DefaultEnvars(prefix), kong.Configuration(load), kong.NamedMapper("bytes", kong.MapperFunc(sizeInBytes))}
}

// load reads a configuration file in YAML, a superset of JSON.
func load(r io.Reader) (kong.Resolver, error) {
	var values map[string]any
	if err := yaml.NewDecoder(r).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return file(values), nil
}

// file holds the values of a configuration file by flag.
type file map[string]any

// Validate rejects keys that are not flags.
func (f file) Validate(app *kong.Application) error {
	known := make(map[string]bool)
	eachFlag(app, func(f *kong.Flag) { known[f.Name] = f.Name != "help" && f.Name != "config" })
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

// Resolve returns the file's value of a flag, unless the flag's environment variable is set: kong would prefer the file.
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
		return nil, fmt.Errorf("%s: must be a scalar value", flag.Name)
	default:
		return fmt.Sprint(v), nil
	}
}
