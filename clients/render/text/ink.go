package text

// Ink colours text by the escape sequences of terminals. The zero value leaves text as it is.
type Ink bool

// Bold writes a text bold.
func (i Ink) Bold(text string) string { return i.with("1", text) }

// Good writes a text green.
func (i Ink) Good(text string) string { return i.with("32", text) }

// Bad writes a text red.
func (i Ink) Bad(text string) string { return i.with("31", text) }

// Warn writes a text yellow.
func (i Ink) Warn(text string) string { return i.with("33", text) }

// Verdict writes the text of an answer that is a yes or a no.
func (i Ink) Verdict(yes bool, text string) string {
	if yes {
		return i.with("1;32", text)
	}
	return i.with("1;31", text)
}

func (i Ink) with(colour, text string) string {
	if !i || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
