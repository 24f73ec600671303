package conformance

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumMessageBytes bounds a message of a corpus. Recorded cases are small.
const maximumMessageBytes = 16 << 20

// Writer writes a corpus: gzipped messages, each preceded by its length as a varint. A case is its name in a
// google.protobuf.StringValue, its request, the answers of Place without preemption and with it, and for each entry of the queue the
// answers of Filter, Score and Preempt.
type Writer struct {
	zip      *gzip.Writer
	messages *bufio.Writer
}

// NewWriter returns a Writer. Close it.
func NewWriter(w io.Writer) (*Writer, error) {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	return &Writer{zip: zip, messages: bufio.NewWriter(zip)}, nil
}

// Add writes a case.
func (w *Writer) Add(c *Case) error {
	messages := []proto.Message{wrapperspb.String(c.Name), c.Request, c.Place, c.PlacePreempting}
	for i := range c.Filter {
		messages = append(messages, c.Filter[i], c.Score[i], c.Preempt[i])
	}
	options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	for _, m := range messages {
		if _, err := options.MarshalTo(w.messages, m); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the corpus.
func (w *Writer) Close() error {
	return errors.Join(w.messages.Flush(), w.zip.Close())
}

// Read returns the cases of a corpus. It ends with an error at the first case that cannot be read.
func Read(r io.Reader) iter.Seq2[*Case, error] {
	return func(yield func(*Case, error) bool) {
		zip, err := gzip.NewReader(r)
		if err != nil {
			yield(nil, err)
			return
		}
		messages := bufio.NewReader(zip)
		for {
			c, err := read(messages)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// read reads one case. It returns io.EOF at the end.
func read(r *bufio.Reader) (*Case, error) {
	options := protodelim.UnmarshalOptions{MaxSize: maximumMessageBytes}
	name := new(wrapperspb.StringValue)
	if err := options.UnmarshalFrom(r, name); err != nil {
		return nil, err
	}
	c := &Case{Name: name.Value, Request: new(stowagev1.PlaceRequest), Answers: Answers{
		Place: new(stowagev1.PlaceResponse), PlacePreempting: new(stowagev1.PlaceResponse),
	}}
	inside := func(m proto.Message) error {
		if err := options.UnmarshalFrom(r, m); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, errors.Join(err, io.ErrUnexpectedEOF))
		}
		return nil
	}
	if err := errors.Join(inside(c.Request), inside(c.Place), inside(c.PlacePreempting)); err != nil {
		return nil, err
	}
	for range c.Request.Queue {
		filter, score, preempt := new(stowagev1.FilterResponse), new(stowagev1.ScoreResponse), new(stowagev1.PreemptResponse)
		if err := errors.Join(inside(filter), inside(score), inside(preempt)); err != nil {
			return nil, err
		}
		c.Filter, c.Score, c.Preempt = append(c.Filter, filter), append(c.Score, score), append(c.Preempt, preempt)
	}
	return c, nil
}
