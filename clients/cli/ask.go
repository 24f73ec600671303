package cli

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/review"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
)

// open reads what the flags name and connects. stop closes the connection.
func (q *question) open(s *session, queue answer.QueueMode) (out *answer.Question, stop func(), err error) {
	return q.openBy(s, queue, q.File, q.read)
}

// openBy is open for a command that reads more than its --file. It reads the paths.
func (q *question) openBy(
	s *session, queue answer.QueueMode, paths []string, read func(*session) (*kube.Snapshot, *schedulerconfig.Scheduler, error),
) (out *answer.Question, stop func(), err error) {
	if err := errors.Join(q.check(), q.format(s.command)); err != nil {
		return nil, nil, err
	}
	q.dress(s)
	var snapshot *kube.Snapshot
	var scheduler *schedulerconfig.Scheduler
	err = s.progress.during("reading", slices.Contains(paths, "-"), func() (err error) {
		snapshot, scheduler, err = read(s)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	out = &answer.Question{
		Snapshot: snapshot, Scheduler: scheduler, Queue: queue, InputNotes: q.notes,
		Gaps: answer.Gaps{Forbidden: len(q.forbidden), Workloads: q.workloads, Deciding: q.deciding, Incomplete: !q.live()},
		Note: func(note string) { quote.Fprintf(s.stderr, "stowage: %s\n", note) },
	}
	out.Client, stop, err = q.dial(s)
	return out, stop, err
}

// naming are the flags that choose a pending pod.
var naming = map[string]string{"filter": "--pod: ", "score": "--pod: ", "preempt": "--pod: ", "fit": "--mix: "}

// decided returns the answer of ask. An error names the files and flags of the fields that the server refuses.
func decided[A any](s *session, q *question, of *answer.Question, ask func() (A, error)) (out A, err error) {
	err = s.progress.during("deciding", false, func() (err error) {
		out, err = ask()
		return err
	})
	if refused, ok := errors.AsType[*answer.RequestError](err); ok {
		err = q.located(refused.Err, of.Snapshot, refused.Request)
	} else if ambiguous, ok := errors.AsType[kube.AmbiguousError](err); ok {
		err = errors.New(naming[s.command] + ambiguous.Error())
	}
	return out, err
}

// judged is an answer to print.
type judged[T any] interface {
	*T
	named
	Judged() *answer.Judgement
	Found() []review.Finding
}

// ask reads what the flags name, connects, puts a question, and prints the answer: as text by write, or as a document. page is nil for
// answers without a page.
func ask[T any, A judged[T]](
	s *session, c *question, code *answered, queue answer.QueueMode, put func(*answer.Question) (A, error),
	write func(io.Writer, A, text.Style), page func(A) *html.Page,
) error {
	q, stop, err := c.open(s, queue)
	if err != nil {
		return err
	}
	defer stop()
	return askAbout(s, c, code, q, put, write, page)
}

// askAbout is ask for a question that is read and connected.
func askAbout[T any, A judged[T]](
	s *session, c *question, code *answered, q *answer.Question, put func(*answer.Question) (A, error),
	write func(io.Writer, A, text.Style), page func(A) *html.Page,
) error {
	a, err := decided(s, c, q, func() (A, error) { return put(q) })
	if a != nil && (c.Output == table || c.drawn()) {
		c.writeFindings(s, a.Found())
	}
	if err != nil {
		return err
	}
	*code = c.exit(s, a.Judged())
	if c.Output == table {
		write(s.stdout, a, c.style(s))
		return nil
	}
	return c.document(s.stdout, a, func() *html.Page { return page(a) })
}

// exit returns the exit code of an answer, and prints why it is unsure.
func (q *question) exit(s *session, j *answer.Judgement) answered {
	if j.Status != answer.Unsure || len(j.Caveats) == 0 || q.AllowUnread {
		return answered(j.ExitStatus(q.AllowUnread))
	}
	remedy := "--allow-unread"
	if len(q.deciding) > 0 {
		remedy = "--ignore KIND or --allow-unread"
	}
	quote.Fprintf(s.stderr, "stowage: kube-scheduler might decide otherwise, as %s: exit status 3 (%s makes it 0)\n",
		strings.Join(j.Caveats, " and "), remedy)
	return exitUnsure
}

// nothingToPlace prints why an answer about pending pods is unsure although there are none; nothing if there are some.
func nothingToPlace(s *session, q *answer.Question) {
	if pods := q.NothingToPlace(); len(pods) > 0 {
		quote.Fprintf(s.stderr, "stowage: there was nothing to place, but these have pods: %s: exit status 3\n", strings.Join(pods, ", "))
	}
}

// maximumFindings bounds the lines about placement rules.
const maximumFindings = 20

// writeFindings writes findings to standard error, for answers that do not list them.
func (q *question) writeFindings(s *session, found []review.Finding) {
	for i := range found {
		if i == maximumFindings {
			more := words.Counted(len(found)-i, "more finding", "more findings")
			quote.Fprintf(s.stderr, "stowage: and %s about placement rules: -o json has all\n", more)
			break
		}
		quote.Fprintf(s.stderr, "stowage: %s: %v\n", found[i].Severity, &found[i])
	}
}

// style is how text is laid out.
func (q *question) style(s *session) text.Style {
	return text.Style{Width: s.width, Ink: s.ink, Verbose: q.Verbose}
}

// named is a document with names.
type named interface {
	json.Marshaler
	// Names are the names that the answer is, as kubectl prints them: pod/web-1, node/a.
	Names() []string
}

// document prints an answer in another format than a table. page makes the page of it.
func (q *question) document(w io.Writer, d named, page func() *html.Page) error {
	switch q.Output {
	case asName:
		return printNames(w, d.Names())
	case asHTML:
		return page().HTML(w)
	case asSVG:
		return page().SVG(w)
	}
	return q.encode(w, d)
}

// encode prints a document as JSON, as YAML, or through a template.
func (q *question) encode(w io.Writer, d json.Marshaler) error {
	if q.Output == asJSON {
		return answer.Encode(w, d)
	}
	text, err := d.MarshalJSON()
	switch {
	case err != nil:
		return err
	case q.Output == asYAML:
		return writeYAML(w, text)
	}
	return q.fill(w, text)
}
