package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// window is the number of bytes of a document that are kept while it may be YAML: flow style begins with a brace, too.
const window = 1 << 20

// documents splits a file. It recognizes JSON by its first character; JSON values need no separator.
type documents struct {
	name   string
	source *source
	in     *bufio.Reader
	yaml   *utilyaml.YAMLReader
	out    *pipeline
	n      int // of the document
}

func (d *documents) at() string { return fmt.Sprintf("%s: document %d", d.name, d.n) }

// read reads all documents, up to a maximum of errors.
func (d *documents) read() {
	for d.n = 1; !d.out.enough(); {
		if d.n > MaximumObjects { // which may be empty
			d.out.fail(d.at(), fmt.Errorf("more than %d documents", MaximumObjects))
			return
		}
		if startsJSON(d.in) {
			d.values()
			continue
		}
		doc, err := d.text()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			d.out.fail(d.at(), err)
			return
		}
		d.inYAML(doc)
	}
}

// inYAML reads the text between two separators: a document, or several that end with "...".
func (d *documents) inYAML(text []byte) {
	for {
		doc, rest, ends := cutAtEnd(text)
		if !empty(doc) {
			addYAML(d.out, d.at(), doc)
		}
		d.n++
		if !ends || empty(rest) {
			return
		}
		text = rest
	}
}

// cutAtEnd cuts text around the first line that ends a document, which no scalar may contain.
func cutAtEnd(text []byte) (before, after []byte, found bool) {
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		if rest, ok := bytes.CutPrefix(line, []byte("...")); ok && (len(rest) == 0 || classes[rest[0]] == blank) {
			return text[:at], text[min(len(text), at+len(line)+1):], true
		}
		next := bytes.Index(text[at:], []byte("\n..."))
		if next < 0 {
			break
		}
		at += next + 1
	}
	return text, nil, false
}

// empty reports whether text has only comments.
func empty(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// values reads the JSON values of a document. If the first value is not JSON, the document is YAML.
func (d *documents) values() {
	for first := true; !d.out.enough(); first = false {
		if !first {
			end, err := d.ends()
			if err != nil {
				d.out.fail(d.at(), err)
			}
			if end || err != nil {
				return
			}
		}
		before := len(d.out.parts)
		s := &scanner{in: d.in, held: true}
		err := d.value(s)
		if first && s.held && (err != nil || garbled(d.out.since(before))) {
			d.out.forget(before)
			d.readYAML()
			return
		}
		if err != nil {
			d.bad(s, err)
			return
		}
		if err := s.discard(); err != nil {
			d.out.fail(d.at(), err)
			return
		}
		d.n++
	}
}

// ends consumes blanks and the separator at the end of a document, and reports whether it has ended.
func (d *documents) ends() (bool, error) {
	fresh := false // at the beginning of a line
	for {
		next, err := d.in.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case classes[next[0]] != blank:
			dashes, _ := d.in.Peek(3)
			if !fresh || string(dashes) != "---" {
				return false, nil
			}
			line, err := d.in.ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return false, err
			}
			if rest := strings.TrimSpace(line[3:]); rest != "" && rest[0] != '#' {
				return false, fmt.Errorf("invalid Yaml document separator: %s", rest)
			}
			return true, nil
		}
		fresh = next[0] == '\n'
		if _, err := d.in.Discard(1); err != nil {
			return false, err
		}
	}
}

// readYAML reads an unread document as YAML.
func (d *documents) readYAML() {
	doc, err := d.text()
	if err != nil {
		d.out.fail(d.at(), err)
		return
	}
	d.inYAML(doc)
}

// text reads the text up to the next separator.
func (d *documents) text() ([]byte, error) {
	d.source.document = maximumText + 1 // the first byte beyond is an error
	defer func() { d.source.document = -1 }()
	return d.yaml.Read()
}

// bad reports a value that is not JSON, and skips the rest of the document.
func (d *documents) bad(s *scanner, err error) {
	if errors.Is(err, errTooLarge) {
		d.source.err = err // the rest is unreadable
	}
	rest, readErr := d.text()
	if s.held && readErr == nil {
		var object map[string]json.RawMessage
		err = cmp.Or(json.NewDecoder(bytes.NewReader(rest)).Decode(&object), err)
	}
	d.out.fail(d.at(), err)
	d.n++
}

// value reads one value; it reads a list item by item.
func (d *documents) value(s *scanner) error {
	at := d.at()
	l := &list{at: at, out: d.out}
	s.opened, s.item = l.begin, func(text []byte) error { return l.add(text, s.held) }
	rest, err := s.object()
	l.flush()
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		l.abandon()
		return err
	}
	l.end(rest)
	return nil
}

func garbled(parts []*part) bool {
	for _, p := range parts {
		for _, f := range p.found {
			if f.garbled {
				return true
			}
		}
	}
	return false
}
