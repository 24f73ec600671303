package report

import (
	"slices"
	"strings"
)

// Command is a command about objects, with flags behind their names, for a POSIX shell. Names that the API server would refuse are quoted:
// whatever an object is called, the shell runs nothing else, and kubectl takes no name for a flag.
func Command(verb string, names []string, flags ...string) string {
	words := slices.Concat(names, flags)
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }) {
		words = slices.Concat(flags, []string{"--"}, names)
	}
	for _, word := range words {
		verb += " " + quoted(word)
	}
	return verb
}

// plain are the characters that a shell takes as they are in any place of a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:=,@%+"

// quoted quotes a word for a shell, if need be.
func quoted(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
