// Command readme runs the code blocks of Markdown files.
//
// A sh block is run by bash in a fresh shell at the repository's root, with bin in its PATH; every command in it must succeed,
// or exit with the status that a comment at the end of its line gives ("# exit status 1"). A text block right after a sh block
// is how the output of the sh block ends; with UPDATE=1 in the environment it is replaced by the output. A go block must be a
// program that compiles.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var (
	fence    = regexp.MustCompile("(?ms)^```(sh|go)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?")
	expected = regexp.MustCompile(`(?m)^(.*\S)\s+# exit status (\d+)$`)
)

func main() {
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintln(os.Stderr, "readme:", err)
			os.Exit(1)
		}
	}
}

// check runs the blocks of a file.
func check(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(content)
	blocks := fence.FindAllStringSubmatchIndex(text, -1)
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no commands", path)
	}
	var updated strings.Builder
	written := 0
	for _, b := range blocks {
		code := text[b[4]:b[5]]
		if text[b[2]:b[3]] == "go" {
			if err := compile(code); err != nil {
				return fmt.Errorf("%s: %w, in\n%s", path, err, code)
			}
			continue
		}
		printed, err := script(code)
		if err != nil {
			return fmt.Errorf("%s: %w, in\n%s", path, err, code)
		}
		if b[6] < 0 {
			continue
		}
		if shown := text[b[6]:b[7]]; os.Getenv("UPDATE") == "" && !strings.HasSuffix(printed, shown) {
			return fmt.Errorf("%s shows another output than that above:\n%s\nof\n%s", path, shown, code)
		}
		updated.WriteString(text[written:b[6]] + printed)
		written = b[7]
	}
	if os.Getenv("UPDATE") != "" {
		updated.WriteString(text[written:])
		if err := os.WriteFile(path, []byte(updated.String()), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d passed, 0 failed\n", path, len(blocks))
	return nil
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
	return run(os.Stdout, "go", "vet", "./"+dir)
}

// script runs commands in one shell, with job control so that they can stop what they started, and returns what they print.
func script(commands string) (string, error) {
	for line := range strings.Lines(commands) {
		fmt.Print("$ ", line)
	}
	var printed bytes.Buffer
	err := run(io.MultiWriter(os.Stdout, &printed), "bash", "-euo", "pipefail", "-c",
		"set -m\n"+expected.ReplaceAllString(commands, `rc=0; $1 || rc=$$?; [ $$rc -eq $2 ]`))
	return printed.String(), err
}

func run(stdout io.Writer, name string, args ...string) error {
	bin, err := filepath.Abs("bin")
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = stdout, os.Stderr
	c.WaitDelay = time.Minute // a block that fails may leave what it started, with its output open
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return errors.Join(err, c.Run())
}
