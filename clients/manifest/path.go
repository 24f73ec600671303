package manifest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// ReadPath reads a file, the files of a directory that end in .yaml, .yml or .json, or, as "-", standard input.
func (r *Reader) ReadPath(path string, stdin io.Reader) error {
	if path == "-" {
		return r.Read("standard input", stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return r.readFile(path)
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(e.Name())) {
			continue
		}
		found = true
		if err := r.readFile(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: no .yaml, .yml or .json files", path)
	}
	return nil
}

func (r *Reader) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return r.Read(path, f)
}
