package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/input"
	"github.com/stowage-scheduler/stowage/clients/apply"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// inputs has the flags that name what is read.
type inputs struct {
	File      []string `short:"f" sep:"none" placeholder:"PATH" help:"Manifests or a dump of a cluster: a file, a directory, an HTTP(S) URL, or - for standard input, also gzipped. Repeatable. Dump clusters as JSON, which is read four times as fast as YAML. Default: the live cluster of the kubeconfig."`
	Kustomize []string `local:"" short:"k" sep:"none" placeholder:"DIRECTORY" help:"Directory with a kustomization, as for kubectl kustomize. Repeatable."`
	Recursive bool     `local:"" short:"R" help:"Read subdirectories of --file as well."`
	cluster
}

// question has the flags that all requests share.
type question struct {
	inputs        `group:"input"`
	SchedulerName string `group:"input" placeholder:"NAME" help:"The schedulerName of pods to place; also selects the profile in a KubeSchedulerConfiguration with several. * means any. Default: the only profile, or default-scheduler."`
	DetachVolumes bool   `group:"input" help:"Assume that a volume is detached as soon as the last pod of its node that uses it leaves. Without the flag its VolumeAttachment counts against the attach limit of the node after that, as for kube-scheduler."`
	Profile       string `group:"input" placeholder:"FILE" help:"Scheduler profile, in JSON or YAML: a KubeSchedulerConfiguration or a Profile of the contract. Default: kube-scheduler's default profile."`

	Output      string `group:"output" short:"o" words:"table,wide,json,yaml,name,html,svg,jsonpath=,go-template=" default:"table" placeholder:"FORMAT" help:"Output format: table, wide (table with --verbose), json, yaml, name (not preempt), html or svg (not filter, score, preempt), jsonpath=TEMPLATE or go-template=TEMPLATE. Default: table."`
	Verbose     bool   `group:"output" short:"v" help:"Print more. explain: every failing check and what each node lacks. place: every node and how full it is. drain: every node and every move."`
	Color       string `local:"" group:"output" enum:"auto,always,never" default:"auto" help:"Colour the output: ${enum}. auto colours terminals unless NO_COLOR is set."`
	AllowUnread bool   `group:"output" help:"Exit with 0, not 3, if kube-scheduler might reject a pod because of fields that Stowage does not read."`

	Ignore []string `group:"output" placeholder:"KIND" help:"Kinds of objects that Stowage does not read and that do not matter, such as ResourceQuota,Prometheus: they do not make the exit status 3."`

	remote `group:"server"`

	forbidden []error  // kinds of objects of the cluster that may not be read
	workloads []string // workloads of kinds that are not read
	deciding  []string // objects that are not read and on which placements may depend
	templates []string // paths of templates of nodes
	rollouts  bool     // whether the command decides rollouts of Deployments
	notes     []string // about the input

	bindingTimeout time.Duration // of the profile, 0 for kube-scheduler's default

	execute func(io.Writer, any) error // the template of --output
}

// live reports whether a live cluster is read.
func (q *inputs) live() bool {
	return q.Cluster || q.Kubeconfig != "" || q.Context != "" || len(q.File)+len(q.Kustomize) == 0
}

// source returns the flags with which another command reads the same cluster and the same profile.
func (q *question) source() []string {
	var out []string
	value := func(flag string, values ...string) {
		for _, v := range values {
			switch {
			case v == "":
			case strings.HasPrefix(flag, "--"):
				out = append(out, flag+"="+v)
			case strings.HasPrefix(v, "-"): // would be taken for a flag
				out = append(out, flag+v)
			default:
				out = append(out, flag, v)
			}
		}
	}
	is := func(flag string, set bool) {
		if set {
			out = append(out, flag)
		}
	}
	value("-f", q.File...)
	value("-k", q.Kustomize...)
	is("-R", q.Recursive)
	is("--cluster", q.Cluster)
	value("--kubeconfig", q.Kubeconfig)
	value("--context", q.Context)
	value("--namespace", q.Namespace)
	value("--selector", q.Selector)
	value("--scheduler-name", q.SchedulerName)
	value("--profile", q.Profile)
	is("--detach-volumes", q.DetachVolumes)
	return out
}

// ties has the flags that choose one of several best nodes.
type ties struct {
	TieBreak string `group:"ties" enum:"first,fewest-pods" default:"first" help:"Among the best nodes choose the first, or the node with the fewest pods, which spreads equal pods: ${enum}."`
	Seed     uint64 `group:"ties" placeholder:"NUMBER" help:"Break ties between the best nodes in an order derived from this seed; 0 keeps the given order."`
}

func (t *ties) tieBreak() stowagev1.TieBreak {
	if t.TieBreak == "fewest-pods" {
		return stowagev1.TieBreak_TIE_BREAK_FEWEST_PODS
	}
	return stowagev1.TieBreak_TIE_BREAK_UNSPECIFIED
}

// queueFlag is the flag that all verbs have that place a queue. Its default follows the cluster, not the verb.
type queueFlag struct {
	Queue string `enum:"auto,kube-scheduler,in-order" default:"auto" help:"Place pods by kube-scheduler's queue, which preempts and retries, or once, in order: ${enum}. auto means kube-scheduler if the nodes come from a cluster."`
}

// mode is the value of --queue.
func (f *queueFlag) mode() answer.QueueMode {
	if f.Queue == "auto" {
		return ""
	}
	return answer.QueueMode(f.Queue)
}

// read reads the profile and the manifests. Whose pods are placed follows from the profile if no flag says it.
func (q *question) read(s *session) (*kube.Snapshot, *schedulerconfig.Scheduler, error) {
	scheduler, err := q.scheduler(s)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := q.snapshot(s, cmp.Or(q.SchedulerName, scheduler.Name))
	return snapshot, scheduler, err
}

// snapshot reads the manifests, and lists on standard error the objects that do not count.
func (q *question) snapshot(s *session, schedulerName string) (*kube.Snapshot, error) {
	r, err := q.reader(s, schedulerName)
	if err != nil {
		return nil, err
	}
	for _, path := range q.templates {
		if err := r.ReadTemplates(path, s.stdin); err != nil {
			return nil, err
		}
	}
	return q.built(s, r)
}

// reader reads the cluster and the manifests.
func (q *question) reader(s *session, schedulerName string) (*manifest.Reader, error) {
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	r, begun, read := s.given.begun(q, kube.Options{
		SchedulerName: schedulerName, Namespace: q.Namespace, Labels: selector, DetachVolumes: q.DetachVolumes, Selectors: s.selectors(),
		Room: s.given.ask(), BindingTimeout: q.bindingTimeout,
	})
	r.Apply, r.Namespace, r.Ignore, r.Recursive, r.Open = apply.Manifest, q.Namespace, q.Ignore, q.Recursive, nil
	if q.live() {
		if q.forbidden, err = q.cluster.read(s.ctx, r); err != nil {
			return nil, err
		}
		if len(q.forbidden) > 0 {
			q.note(s, "%s", unread(q.forbidden))
		}
	}
	local, handed := q.File, []string(nil)
	if s.given != nil {
		local, handed = q.File[:len(s.given.local)], q.File[len(s.given.local):] // the owner's flags come first
	}
	var wrong []error
	for _, path := range local {
		wrong = append(wrong, readFile(s, r, path))
	}
	for _, directory := range q.Kustomize {
		wrong = append(wrong, kustomize(r, directory))
	}
	if s.given != nil { // from here on no file of this machine is opened
		r.Open = s.given.open
		if begun == 0 {
			r.Bound(s.given.maximum)
		}
	}
	for i, path := range handed[begun:] {
		wrong = append(wrong, readFile(s, r, path))
		if errors.Join(wrong...) == nil {
			read(begun + i + 1)
		}
	}
	return r, errors.Join(wrong...)
}

// readFile reads manifests.
func readFile(s *session, r *manifest.Reader, path string) error {
	if r.Open == nil && isURL(path) {
		return fetch(s.ctx, r, path)
	}
	return r.ReadPath(path, s.stdin)
}

// note says something beside the answer: on standard error, and in answers that programs read.
func (q *question) note(s *session, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	q.notes = append(q.notes, text)
	quote.Fprintf(s.stderr, "stowage: %s\n", text)
}

// built builds the snapshot, and notes what it lacks.
func (q *question) built(s *session, r *manifest.Reader) (*kube.Snapshot, error) {
	in := &input.Input{
		Live: q.live(), Rollouts: q.rollouts, Forbidden: q.forbidden,
		Note: func(note string) { q.note(s, "%s", note) },
	}
	out, gaps, err := in.Read(r)
	q.workloads, q.deciding = gaps.Workloads, gaps.Deciding
	return out, err
}

// profileName is the name of the profile in a KubeSchedulerConfiguration; empty if there must be only one.
func (q *question) profileName() string {
	if q.SchedulerName == kube.AnyScheduler {
		return ""
	}
	return q.SchedulerName
}

// scheduler reads the profile; without one, its fields are zero.
func (q *question) scheduler(s *session) (*schedulerconfig.Scheduler, error) {
	out := &schedulerconfig.Scheduler{}
	if q.Profile != "" {
		f, err := s.openFile(q.Profile)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		if out, err = schedulerconfig.ReadFrom(q.Profile, f, schedulerconfig.Options{SchedulerName: q.profileName()}); err != nil {
			return nil, err
		}
	}
	q.bindingTimeout = out.BindingTimeout
	out.Profile = schedulerconfig.Named(out.Profile, cmp.Or(q.SchedulerName, out.Name))
	return out, nil
}
