// Command readme runs the code blocks of a Markdown file.
//
// A sh block is run by bash in a fresh shell at the repository's root; every command in it must succeed, or exit with
// the status that a comment at the end of its line gives ("# exit status 1"). A go block must be a program that compiles.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	fence    = regexp.MustCompile("(?ms)^```(sh|go)\n(.*?)^```$")
	expected = regexp.MustCompile(`(?m)^(.*\S)\s+# exit status (\d+)$`)
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	blocks := fence.FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		fail(fmt.Errorf("%s has no commands", os.Args[1]))
	}
	for _, b := range blocks {
		if b[1] == "go" {
			err = compile(b[2])
		} else {
			err = script(b[2])
		}
		if err != nil {
			fail(fmt.Errorf("%w, in\n%s", err, b[2]))
		}
	}
	fmt.Printf("%s: %d passed, 0 failed\n", os.Args[1], len(blocks))
}

// compile builds a program in a directory that the go command's patterns leave out.
func compile(source string) error {
	dir := filepath.Join("build", "_readme")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644); err != nil {
		return err
	}
	return run("go", "vet", "./"+dir)
}

// script runs commands in one shell, with job control so that they can stop what they started.
func script(commands string) error {
	for line := range strings.Lines(commands) {
		fmt.Print("$ ", line)
	}
	return run("bash", "-euo", "pipefail", "-c", "set -m\n"+expected.ReplaceAllString(commands, `rc=0; $1 || rc=$$?; [ $$rc -eq $2 ]`))
}

func run(name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "readme:", err)
	os.Exit(1)
}
