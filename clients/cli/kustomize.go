//go:build !js

package cli

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// kustomize reads the manifests that a kustomization makes: as kubectl kustomize does without flags, so without plugins and Helm.
func kustomize(r *manifest.Reader, directory string) error {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return fmt.Errorf("--kustomize: %w", err)
	}
	text, err := made.AsYaml()
	if err != nil {
		return fmt.Errorf("--kustomize: %w", err)
	}
	return r.Read(directory, bytes.NewReader(text))
}
