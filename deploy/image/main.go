package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var (
		binaries = flag.String("binaries", "", "directory with linux-ARCH/COMMAND for each architecture")
		command  = flag.String("command", "stowage-server", "the command in the image, and the image's name")
		out      = flag.String("out", "", "directory to write layout/ and COMMAND.tar to")
		tag      = flag.String("tag", "", "tag of the image, such as v0.1.0")
		revision = flag.String("revision", "", "commit of the binaries")
		created  = flag.Int64("created", 0, "creation time of the image, in seconds since 1970")
		arches   = flag.String("arch", "amd64,arm64", "architectures, separated by commas")
	)
	flag.Parse()
	s := source{
		binaries: *binaries,
		command:  *command,
		arches:   strings.Split(*arches, ","),
		tag:      *tag,
		revision: *revision,
		created:  time.Unix(*created, 0).UTC(),
	}
	digest, err := s.pack(filepath.Join(*out, "layout"), filepath.Join(*out, *command+".tar"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Printf("%s:%s %s\n", *command, *tag, digest)
}
