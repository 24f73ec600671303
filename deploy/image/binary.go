package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
)

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// readBinary returns a command's binary for an architecture. It refuses binaries that cannot run in an empty image: for another
// machine, or with a dynamic linker.
func readBinary(dir, command, arch string) ([]byte, error) {
	machine, ok := machines[arch]
	if !ok {
		return nil, fmt.Errorf("unknown architecture %q", arch)
	}
	name := filepath.Join(dir, "linux-"+arch, command)
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if file.Machine != machine {
		return nil, fmt.Errorf("%s is for %v, not %v", name, file.Machine, machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s is linked dynamically; build it with CGO_ENABLED=0", name)
		}
	}
	return content, nil
}
