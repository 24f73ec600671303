package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions select the files of a directory. A .gz may follow each.
var extensions = []string{".json", ".yaml", ".yml"}

// ReadPath reads a file, the files of a directory with the extension .yaml, .yml or .json, also followed by .gz, or, as "-",
// standard input. With Recursive it reads subdirectories, too, but follows no links to directories. The error lists the problems of
// all files, up to a maximum number of files.
func (r *Reader) ReadPath(path string, stdin io.Reader) error {
	if r.Open != nil {
		return r.readFile(path, r.readSome)
	}
	if path == "-" {
		return r.readSome("standard input", stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return r.readFile(path, r.readSome)
	}
	found, wrong := false, []error(nil)
	root := path + string(filepath.Separator)                                      // so that a link to a directory is followed
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error { // sorted by name
		switch {
		case err != nil:
			return err
		case e.IsDir() && at != root && !r.Recursive:
			return filepath.SkipDir
		case e.IsDir() || !slices.Contains(extensions, filepath.Ext(strings.TrimSuffix(e.Name(), ".gz"))):
			return nil
		}
		found = true
		if err := regular(at); err != nil {
			wrong = append(wrong, err)
		} else if err := r.readFile(at, r.Read); err != nil {
			wrong = append(wrong, err)
		}
		if len(wrong) == maximumErrors {
			return errEnough
		}
		return nil
	})
	switch {
	case err != nil:
		return errors.Join(append(wrong, err)...)
	case len(wrong) > 0:
		return errors.Join(wrong...)
	case !found && r.Recursive:
		return fmt.Errorf("%s: no .yaml, .yml or .json files", path)
	case !found:
		return fmt.Errorf("%s: no .yaml, .yml or .json files; -R also reads subdirectories", path)
	}
	return nil
}

// regular refuses pipes and devices in directories: opening a pipe waits for its writer, and reading a device may never end. A path
// that names one directly is intended.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // a link to a directory is an error of its own
		err = fmt.Errorf("%s: not a regular file (%s)", path, info.Mode().Type())
	}
	return err
}

// readSome refuses empty input: an empty file is the output of a failed command.
func (r *Reader) readSome(name string, in io.Reader) error {
	text := &noted{in: in}
	if err := r.Read(name, text); err != nil {
		return err
	}
	if !text.some {
		return fmt.Errorf("%s: is empty", name)
	}
	return nil
}

// noted is a reader that notes whether it has read anything but blanks.
type noted struct {
	in   io.Reader
	some bool
}

func (n *noted) Read(p []byte) (int, error) {
	read, err := n.in.Read(p)
	n.some = n.some || len(bytes.TrimSpace(p[:read])) > 0
	return read, err
}

func (r *Reader) readFile(path string, read func(string, io.Reader) error) error {
	open := r.Open
	if open == nil {
		open = func(path string) (io.ReadCloser, error) { return os.Open(path) }
	}
	f, err := open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return read(path, f)
}
