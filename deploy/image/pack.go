package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// source is the input of an image. Equal sources give equal images.
type source struct {
	binaries string
	command  string // the binary's name, and the image's
	arches   []string
	tag      string
	revision string
	created  time.Time
}

// pack writes the image as a layout and as an archive of the layout, replacing existing files. It returns the image's digest, which is
// the same in every registry.
func (s source) pack(layoutDir, archive string) (string, error) {
	if s.tag == "" {
		return "", errors.New("an image needs a tag")
	}
	index, err := s.index()
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(layoutDir); err != nil {
		return "", err
	}
	path, err := layout.Write(layoutDir, emptyIndex())
	if err != nil {
		return "", fmt.Errorf("layout: %w", err)
	}
	// skopeo finds the image by this reference, and podman names it so.
	reference := map[string]string{"org.opencontainers.image.ref.name": s.command + ":" + s.tag}
	if err := path.AppendIndex(index, layout.WithAnnotations(reference)); err != nil {
		return "", fmt.Errorf("layout: %w", err)
	}
	if err := archiveDirectory(archive, layoutDir); err != nil {
		return "", fmt.Errorf("archive: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	return digest.String(), nil
}
