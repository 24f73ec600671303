package quote

import (
	"slices"
	"strings"
)

// Command is a command about objects, with flags behind their names, for a POSIX shell. Whatever the name of an object, the shell runs
// nothing else, and kubectl mistakes no name for a flag. A flag with a value must be one word, as in "--namespace=shop", because a
// separate value might be mistaken for another flag.
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

// plain are the characters without a special meaning anywhere in a shell's words.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:=,@%+"

// Shell quotes a word for a POSIX shell, if needed. The word stays on its line: characters that Line escapes remain escaped. A name with
// such characters, which no API server accepts, then belongs to no object.
func Shell(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(Line(word), "'", `'\''`) + "'"
}

// Bare reports whether a word needs no quotes in any shell, and no command mistakes it for a flag.
func Bare(word string) bool {
	return word != "" && strings.Trim(word, plain) == "" && strings.IndexByte("-@%=", word[0]) < 0
}
