// Package corpus writes kube-scheduler's answers down, for tests that must not depend on kube-scheduler.
//
// A corpus is gzipped: for each case a PlaceRequest, and then the answers that it must get, each message preceded by its
// length as a varint (google.golang.org/protobuf/encoding/protodelim). First the PlaceResponse, then for each entry of
// the queue a FilterResponse and a ScoreResponse, for requests with the same cluster, profile and candidates and the
// entry's pod. Explanations hold failing_checks alone. Beside it lies an index, one line a case, for people.
package corpus

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Writer writes a corpus and its index.
type Writer struct {
	zip      *gzip.Writer
	messages *bufio.Writer
	index    io.Writer
}

// NewWriter returns a writer. Close it.
func NewWriter(corpus, index io.Writer) (*Writer, error) {
	zip, err := gzip.NewWriterLevel(corpus, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	return &Writer{zip: zip, messages: bufio.NewWriter(zip), index: index}, nil
}

// Close ends the corpus.
func (w *Writer) Close() error {
	if err := w.messages.Flush(); err != nil {
		return err
	}
	return w.zip.Close()
}

// Add asks kube-scheduler about a case and writes its answers down.
func (w *Writer) Add(c *scenario.Case) error {
	s, err := oracle.New(c)
	if err != nil {
		return err
	}
	defer s.Close()
	request, err := compare.PlaceRequest(c, s, compare.Form{Stored: true})
	if err != nil {
		return err
	}
	answers, err := expect.Of(c, s)
	if err != nil {
		return err
	}
	messages := []proto.Message{request, answers.Place}
	for i := range answers.Filter {
		messages = append(messages, answers.Filter[i], answers.Score[i])
	}
	options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	for _, m := range messages {
		if _, err := options.MarshalTo(w.messages, m); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w.index, line(c, answers))
	return err
}

// line tells what a case is about: its size, the reasons for refusals and the plugins that scored.
func line(c *scenario.Case, a *expect.Answers) string {
	var seen []string
	note := func(s string) {
		for _, old := range seen {
			if old == s {
				return
			}
		}
		seen = append(seen, s)
	}
	for i := range a.Filter {
		for _, r := range a.Filter[i].Rejections {
			for _, reason := range r.Reasons {
				note(strings.ToLower(strings.TrimPrefix(reason.Type.String(), "REJECTION_REASON_")))
			}
		}
		for _, p := range a.Score[i].PluginScores {
			note("+" + strings.ToLower(strings.TrimPrefix(p.Plugin.String(), "PLUGIN_")))
		}
	}
	return fmt.Sprintf("%s: %d nodes, %d pods, %d placed, %d not; %s", c.Name, len(c.Nodes), len(c.Pods), a.Place.PlacedCount,
		a.Place.UnplacedCount, strings.Join(seen, " "))
}
