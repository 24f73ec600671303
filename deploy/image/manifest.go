package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the nonroot user of distroless images. It is a number because the image has no /etc/passwd, and because runAsNonRoot can
// only be checked for a number.
const user = "65532:65532"

func emptyIndex() v1.ImageIndex {
	return mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
}

// index returns the image index, with one image per architecture in the given order.
func (s source) index() (v1.ImageIndex, error) {
	index := emptyIndex()
	for _, arch := range s.arches {
		image, err := s.image(arch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return mutate.Annotations(index, s.labels()).(v1.ImageIndex), nil
}

func (s source) image(arch string) (v1.Image, error) {
	binary, err := readBinary(s.binaries, s.command, arch)
	if err != nil {
		return nil, err
	}
	// The binary comes last, because it changes with every version.
	layers := []struct {
		path    string
		content []byte
		mode    int64
	}{
		{certificatesPath, certificates(), 0o444},
		{s.command, binary, 0o555},
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range layers {
		layer, err := fileLayer(l.path, l.content, l.mode)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "deploy/image " + l.path},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS = "linux"
	config.Architecture = arch
	config.Created = v1.Time{Time: s.created}
	config.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/" + s.command},
		WorkingDir: "/",
		Labels:     s.labels(),
	}
	return mutate.ConfigFile(image, config)
}

func (s source) labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    s.command,
		"org.opencontainers.image.version":  s.tag,
		"org.opencontainers.image.created":  s.created.Format("2006-01-02T15:04:05Z"),
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   "https://github.com/stowage-scheduler/stowage",
	}
	if s.revision != "" {
		labels["org.opencontainers.image.revision"] = s.revision
	}
	return labels
}
