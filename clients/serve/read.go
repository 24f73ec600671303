package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"

	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// Bounds of a form.
const (
	maximumParts = 100
	maximumValue = 64 << 10
)

// read reads a request. done returns what its body takes.
func (s *server) read(ctx context.Context, w http.ResponseWriter, r *http.Request, v *verbs.Verb) (c *verbs.Call, done func(), err error) {
	done = func() {}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, done, &httpError{http.StatusBadRequest, fmt.Sprintf("the query: %v", err)}
	}
	c = &verbs.Call{Verb: v.Name, Values: query, Files: map[string][]verbs.Content{}, MaximumBytes: s.MaximumBody}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" && coding != "gzip" {
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, done, &httpError{http.StatusUnsupportedMediaType, fmt.Sprintf("a body may be compressed by gzip, not by %q", coding)}
	}
	if r.ContentLength > s.MaximumBody {
		return nil, done, &http.MaxBytesError{Limit: s.MaximumBody}
	}
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, s.MaximumBody))
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := err == nil && kind == "multipart/form-data"
	// A body whose length is not known may take as much as the largest, as may one that is packed, and the files of a form.
	takes := r.ContentLength
	if takes < 0 || form || packed(body) {
		takes = s.MaximumBody
	}
	wait, cancel := context.WithTimeout(ctx, s.MaximumWait)
	defer cancel()
	if err := s.bodies.Acquire(wait, takes); err != nil {
		return nil, done, &httpError{http.StatusTooManyRequests, "too many requests are being answered"}
	}
	done = func() { s.bodies.Release(takes) }
	if form {
		return c, done, s.readForm(c, v, body, parameters["boundary"])
	}
	c.Files["file"] = []verbs.Content{{Name: "body", Reader: body}}
	return c, done, nil
}

// packed reports whether a body begins with gzip's magic number.
func packed(body *bufio.Reader) bool {
	magic, _ := body.Peek(2)
	return string(magic) == "\x1f\x8b"
}

// readForm reads the parts of a form, which have the names of parameters.
func (s *server) readForm(c *verbs.Call, v *verbs.Verb, body io.Reader, boundary string) error {
	ended := &ending{in: body, want: []byte("--" + boundary + "--")}
	form := multipart.NewReader(ended, boundary)
	for n := 0; ; n++ {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return ended.check()
		case err != nil:
			return formError(err)
		case n == maximumParts:
			return &httpError{http.StatusBadRequest, fmt.Sprintf("the form has more than %d parts", maximumParts)}
		}
		name := part.FormName()
		p := v.Parameter(name)
		if p == nil {
			return &httpError{http.StatusBadRequest, fmt.Sprintf("%s has no parameter %q", v.Name, name)}
		}
		if p.Kind != verbs.File {
			text, err := io.ReadAll(io.LimitReader(part, maximumValue+1))
			if err != nil {
				return formError(err)
			}
			if len(text) > maximumValue {
				return &httpError{http.StatusBadRequest, fmt.Sprintf("%s: more than %d bytes", name, maximumValue)}
			}
			c.Values[name] = append(c.Values[name], string(text))
			continue
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return formError(err)
		}
		file := part.FileName()
		if file == "" {
			file = name
		}
		c.Files[name] = append(c.Files[name], verbs.Content{Name: file, Reader: bytes.NewReader(text)})
	}
}

// formError is an error of a form, unless it is one of its size.
func formError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	return &httpError{http.StatusBadRequest, fmt.Sprintf("the form: %v", err)}
}

// ending is a form that notes whether its last boundary was read: package multipart takes a form that ends within the headers of a part for
// one that ends before the part.
type ending struct {
	in   io.Reader
	want []byte
	last []byte // what may be the beginning of it
	seen bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	e.last = append(e.last, p[:n]...)
	e.seen = e.seen || bytes.Contains(e.last, e.want)
	e.last = append([]byte(nil), e.last[max(0, len(e.last)-len(e.want)):]...)
	return n, err
}

func (e *ending) check() error {
	if !e.seen {
		return &httpError{http.StatusBadRequest, "the form: it ends before its last boundary"}
	}
	return nil
}

// arrival is a body that arrives.
type arrival struct {
	io.ReadCloser
	ended func() // is called at the end: net/http would end the request at the deadline of its body
	late  bool   // the deadline came first
}

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		a.ended()
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.late = true
	}
	return n, err
}
