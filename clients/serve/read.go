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

// read reads a request. Its body has arrived when read returns, so that callers who send slowly occupy no processor.
func (s *server) read(ctx context.Context, w http.ResponseWriter, r *http.Request, v *verbs.Verb) (c *verbs.Call, held *share, err error) {
	held = &share{of: s}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, held, badRequest("the query: %v", err)
	}
	c = &verbs.Call{
		Verb: v.Name, Values: query, Files: map[string][]verbs.Content{}, MaximumBytes: s.MaximumBody, Room: held.take,
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" && coding != "gzip" {
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, held, &httpError{status: http.StatusUnsupportedMediaType, detail: fmt.Sprintf("a body may be compressed by gzip, not by %q", coding)}
	}
	if r.ContentLength > s.MaximumBody {
		return nil, held, &http.MaxBytesError{Limit: s.MaximumBody}
	}
	arrives := r.ContentLength
	if arrives < 0 { // it may be as large as the largest
		arrives = s.MaximumBody
	}
	if err := held.resize(ctx, 0, max(arrives, s.MinimumShare)); err != nil {
		return nil, held, err
	}
	body := http.MaxBytesReader(w, r.Body, s.MaximumBody)
	var weighs int64
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "multipart/form-data" {
		weighs, err = readForm(c, v, bufio.NewReader(body), parameters["boundary"], s.MaximumBody)
	} else {
		text := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead))
		_, err = text.ReadFrom(body)
		err = readError("the body", err)
		weighs = weight(text.Bytes(), s.MaximumBody)
		c.Files["file"] = []verbs.Content{{Name: "body", Reader: text}}
	}
	if err != nil {
		return nil, held, err
	}
	held.used = weighs
	return c, held, held.resize(ctx, arrives, max(weighs, s.MinimumShare))
}

// readForm reads the parts of a form, which have the names of parameters. It returns the weight of its files, which is at most maximum.
func readForm(c *verbs.Call, v *verbs.Verb, body io.Reader, boundary string, maximum int64) (weighs int64, err error) {
	ended := &ending{in: body, want: []byte("--" + boundary + "--")}
	form := multipart.NewReader(ended, boundary)
	for n := 0; ; n++ {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return min(weighs, maximum), ended.check()
		case err != nil:
			return 0, readError("the form", err)
		case n == maximumParts:
			return 0, badRequest("the form has more than %d parts", maximumParts)
		}
		name := part.FormName()
		p := v.Parameter(name)
		if p == nil {
			return 0, badRequest("%s has no parameter %q", v.Name, name)
		}
		if p.Kind != verbs.File {
			text, err := io.ReadAll(io.LimitReader(part, maximumValue+1))
			if err != nil {
				return 0, readError("the form", err)
			}
			if len(text) > maximumValue {
				return 0, badRequest("%s: more than %d bytes", name, maximumValue)
			}
			c.Values[name] = append(c.Values[name], string(text))
			continue
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return 0, readError("the form", err)
		}
		weighs += weight(text, maximum)
		file := part.FileName()
		if file == "" {
			file = name
		}
		c.Files[name] = append(c.Files[name], verbs.Content{Name: file, Reader: bytes.NewReader(text)})
	}
}

// readError makes an error of reading a body an error of the request, unless it is about its size.
func readError(what string, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || err == nil {
		return err
	}
	return badRequest("%s: %v", what, err)
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
		return badRequest("the form: it ends before its last boundary")
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
