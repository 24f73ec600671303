package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// compile puts a static binary for each architecture where the image is packed from.
func compile(t *testing.T, arches ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, arch := range arches {
		build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "linux-"+arch, "stowage-server"), "./testdata/hello")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// place puts a file where the amd64 image is packed from.
func place(t *testing.T, content []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "linux-amd64"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "linux-amd64", "stowage-server"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func packed(t *testing.T, s source) (layoutDir, archive, digest string) {
	t.Helper()
	dir := t.TempDir()
	layoutDir, archive = filepath.Join(dir, "layout"), filepath.Join(dir, "stowage-server.tar")
	digest, err := s.pack(layoutDir, archive)
	if err != nil {
		t.Fatal(err)
	}
	return layoutDir, archive, digest
}

func TestImageReadsBack(t *testing.T) {
	arches := []string{"amd64", "arm64"}
	s := source{
		command: "stowage-server", binaries: compile(t, arches...), arches: arches, tag: "v1.2.3", revision: "abc",
		created: time.Unix(1000, 0).UTC(),
	}
	layoutDir, _, digest := packed(t, s)

	root, err := layout.ImageIndexFromPath(layoutDir)
	if err != nil {
		t.Fatal(err)
	}
	// Recomputes every digest and size in the layout.
	if err := validate.Index(root); err != nil {
		t.Fatal(err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != digest {
		t.Fatalf("the layout has %v, want only %s", manifest.Manifests, digest)
	}
	if got := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != "stowage-server:v1.2.3" {
		t.Errorf("reference %q", got)
	}
	index, err := root.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms.Manifests) != len(arches) {
		t.Fatalf("%d images, want %d", len(platforms.Manifests), len(arches))
	}
	for i, arch := range arches {
		if got := platforms.Manifests[i].Platform; got.OS != "linux" || got.Architecture != arch {
			t.Errorf("image %d is for %v, want linux/%s", i, got, arch)
		}
		image, err := index.Image(platforms.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, s, arch)
	}
}

func checkImage(t *testing.T, image v1.Image, s source, arch string) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if file.OS != "linux" || file.Architecture != arch || !file.Created.Equal(s.created) {
		t.Errorf("config is for %s/%s of %v", file.OS, file.Architecture, file.Created)
	}
	want := v1.Config{
		User:       "65532:65532",
		Entrypoint: []string{"/stowage-server"},
		WorkingDir: "/",
		Labels:     s.labels(),
	}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	files := contents(t, image)
	executable, err := os.ReadFile(filepath.Join(s.binaries, "linux-"+arch, "stowage-server"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(files["stowage-server 555"], executable) {
		t.Error("the image's binary is not the one that was compiled")
	}
	delete(files, "stowage-server 555")
	checkCertificates(t, files["etc/ssl/certs/ca-certificates.crt 444"])
	delete(files, "etc/ssl/certs/ca-certificates.crt 444")
	if len(files) != 0 {
		t.Errorf("the image has more files: %v", files)
	}
}

// contents returns the image's files, keyed by path and mode.
func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, layer := range layers {
		uncompressed, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(uncompressed); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 0 {
				t.Errorf("%s is of user %d:%d and %v", header.Name, header.Uid, header.Gid, header.ModTime)
			}
			if header.Typeflag == tar.TypeDir {
				continue
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[header.Name+" "+strconv.FormatInt(header.Mode, 8)] = content
		}
		if err := uncompressed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func checkCertificates(t *testing.T, bundle []byte) {
	t.Helper()
	roots := 0
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			t.Errorf("%s is no certificate authority", certificate.Subject)
		}
		roots++
	}
	if roots < 50 {
		t.Errorf("only %d root certificates", roots)
	}
}

func TestSameSourceSameBytes(t *testing.T) {
	s := source{
		command: "stowage-server", binaries: compile(t, "amd64"), arches: []string{"amd64"}, tag: "v1",
		created: time.Unix(1000, 0).UTC(),
	}
	_, first, digest := packed(t, s)
	_, second, again := packed(t, s)
	if digest != again {
		t.Errorf("digests %s and %s", digest, again)
	}
	a, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("archives differ")
	}
	s.created = s.created.Add(time.Second)
	if _, _, later := packed(t, s); later == digest {
		t.Error("the time is not part of the image")
	}
}

func TestRefusesWhatCannotRun(t *testing.T) {
	static := compile(t, "amd64")
	swapped := t.TempDir()
	if err := os.Rename(filepath.Join(static, "linux-amd64"), filepath.Join(swapped, "linux-arm64")); err != nil {
		t.Fatal(err)
	}
	executable, err := os.ReadFile(filepath.Join(swapped, "linux-arm64", "stowage-server"))
	if err != nil {
		t.Fatal(err)
	}
	// The type of the first program header is at the header table's offset, which is at 32 in a 64-bit ELF file.
	dynamic := bytes.Clone(executable)
	binary.LittleEndian.PutUint32(dynamic[binary.LittleEndian.Uint64(dynamic[32:]):], uint32(elf.PT_INTERP))
	script := append([]byte("#!/bin/sh\n"), make([]byte, 64)...)
	for _, c := range []struct {
		name   string
		source source
		want   string
	}{
		{"no tag", source{command: "stowage-server", binaries: swapped, arches: []string{"arm64"}}, "needs a tag"},
		{"missing", source{command: "stowage-server", binaries: swapped, arches: []string{"amd64"}, tag: "v1"}, "no such file"},
		{
			"another machine", source{command: "stowage-server", binaries: swapped, arches: []string{"arm64"}, tag: "v1"},
			"is for EM_X86_64",
		},
		{
			"unknown machine", source{command: "stowage-server", binaries: swapped, arches: []string{"z80"}, tag: "v1"},
			"unknown architecture",
		},
		{
			"dynamic", source{command: "stowage-server", binaries: place(t, dynamic), arches: []string{"amd64"}, tag: "v1"},
			"linked dynamically",
		},
		{
			"no binary", source{command: "stowage-server", binaries: place(t, script), arches: []string{"amd64"}, tag: "v1"},
			"bad magic number",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := c.source.pack(filepath.Join(dir, "layout"), filepath.Join(dir, "image.tar"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error about %q", err, c.want)
			}
		})
	}
}
