package bounded

import (
	"fmt"
	"io"
	"os"
)

// maximumFile bounds a file of settings. Such files often come from a ConfigMap, which has up to 1 MiB.
const maximumFile = 1 << 20

// ReadFile is os.ReadFile for a file of settings, which may be the end of a pipe.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return Read(path, f)
}

// Read reads a file of settings to its end. Errors contain its name.
func Read(name string, in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maximumFile+1))
	if err == nil && len(text) > maximumFile {
		err = fmt.Errorf("more than %d bytes", maximumFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}
