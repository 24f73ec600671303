package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
)

// archiveDirectory writes a directory's files to a tar archive, in lexical order and without times and owners.
func archiveDirectory(archive, dir string) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return archiveFile(w, files, name)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func archiveFile(w *tar.Writer, files fs.FS, name string) error {
	in, err := files.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
