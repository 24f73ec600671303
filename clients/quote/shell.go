package quote

import (
	"slices"
	"strings"
)

// Command is a command about objects, with flags behind their names, for a POSIX shell. Whatever an object is called, the shell runs nothing
// else, and kubectl takes no name for a flag. A flag with a value has to be one word, as in "--namespace=shop": a value of its own might be
// taken for another flag.
func Command(verb string, names []string, flags ...string) string {
	words := slices.Concat(names, flags)
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }) {
		words = slices.Concat(flags, []string{"--"}, names)
	}
	for _, word := range words {
		verb += " " + Shell(word)
	}
	return verb
}

// plain are the characters that a shell takes as they are in any place of a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:=,@%+"

// Shell quotes a word for a POSIX shell, if need be. The word stays on its line: what Line escapes remains escaped, so that such a name, which
// no API server accepts, is that of no object.
func Shell(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(Line(word), "'", `'\''`) + "'"
}

// Bare reports whether any shell takes a word as it is, and a command takes it for no flag.
func Bare(word string) bool {
	return word != "" && strings.Trim(word, plain) == "" && strings.IndexByte("-@%=", word[0]) < 0
}
