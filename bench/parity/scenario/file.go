package scenario

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Read reads a case from a YAML or JSON file.
func Read(path string) (*Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := new(Case)
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Write writes a case as YAML, after the lines of a comment.
func (c *Case) Write(path string, comment []string) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	var head []byte
	for _, line := range comment {
		head = fmt.Appendf(head, "# %s\n", line)
	}
	return os.WriteFile(path, append(head, data...), 0o644)
}
