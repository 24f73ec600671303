package main

import (
	"archive/tar"
	"bytes"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// fileLayer returns a layer with one file and its parent directories, all owned by root and dated 1970, so that a layer's digest is a
// function of its file.
func fileLayer(name string, content []byte, mode int64) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range parents(name) {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, Format: tar.FormatUSTAR})
		if err != nil {
			return nil, err
		}
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: mode, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// parents returns the directories above a slash-separated relative path, outermost first.
func parents(name string) []string {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	var all []string
	parts := strings.Split(dir, "/")
	for i := range parts {
		all = append(all, strings.Join(parts[:i+1], "/"))
	}
	return all
}
