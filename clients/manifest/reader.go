package manifest

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/validate"
)

const (
	// MaximumBytes bounds the input of a Reader unless Bound does: 250,000 pods as kubectl prints them, with some 4 GiB of memory.
	MaximumBytes int64 = 4 << 30
	// MaximumObjects bounds the objects of a Reader. Each may take 4 KiB of memory, however short its text.
	MaximumObjects = 300_000
	// Reading stops after maximumErrors errors.
	maximumErrors = 20
	// maximumListDepth bounds nested lists, because each is scanned once for every enclosing list.
	maximumListDepth = 2
)

// Reader reads manifests into a snapshot.
type Reader struct {
	// Namespace is the default for objects without a namespace.
	Namespace string
	// Recursive makes ReadPath read subdirectories.
	Recursive bool
	// Open opens the files of ReadPath; nil: files of this machine, where a path may be a directory, and - is standard input.
	Open func(path string) (io.ReadCloser, error)
	// Ignore are kinds that Skipped does not count, with or without their group, as in Prometheus.monitoring.coreos.com.
	Ignore []string
	// Apply applies a manifest to an object of a cluster, as apply.Manifest does; into is an empty object of its type. Without
	// Apply such a manifest is an error.
	Apply func(current, into metav1.Object, manifest map[string]any) (Applied, error)

	options     kube.Options
	builder     *kube.Builder
	in          *bufio.Reader
	text        bound
	objects     int64
	unread      unread
	used        map[string]bool // namespaces of objects
	spaces      map[string]bool // Namespace objects
	entries     []*entry
	known       map[string]*entry // by kind, namespace and name
	file        int               // counts the files
	notices     []string
	noticeCount int
	errs        []error
	templates   bool // whether Nodes are templates
}

// NewReader returns a Reader of snapshots with the given options.
func NewReader(o kube.Options) *Reader {
	return &Reader{
		options: o,
		builder: kube.NewBuilder(o),
		text:    bound{MaximumBytes, MaximumBytes},
		unread:  newUnread(),
		used:    map[string]bool{},
		spaces:  map[string]bool{},
		known:   map[string]*entry{},
	}
}

// Bound bounds the text of all files to fewer bytes than MaximumBytes, before anything is read.
func (r *Reader) Bound(bytes int64) { r.text = bound{bytes, bytes} }

// Read reads the documents of one file, which may be compressed by gzip; errors contain name. A repeated object counts once. A
// different object of the same name in another file changes or replaces it, see the package documentation; in the same file it is
// an error. The error lists all problems, up to a maximum.
func (r *Reader) Read(name string, in io.Reader) error {
	r.errs = nil
	r.file++
	plain, err := unpacked(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	limited := &source{in: plain, bound: r.text, document: -1}
	if r.in == nil {
		r.in = bufio.NewReaderSize(nil, window)
	}
	r.in.Reset(limited)
	d := &documents{name: name, source: limited, in: r.in, yaml: utilyaml.NewYAMLReader(r.in), out: newPipeline(decoder{
		templates: r.templates, file: r.file, kustomization: slices.Contains(kustomizations, filepath.Base(name)),
	})}
	d.read()
	parts := d.out.since(0)
	r.text = limited.bound
	if r.objects += d.out.objects.Load(); r.objects > MaximumObjects {
		return fmt.Errorf("%s: more than %d objects", name, MaximumObjects)
	}
	r.commit(parts)
	return errors.Join(r.errs...)
}

// kustomizations are the names of kustomize's files.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// unpacked decompresses input that begins with gzip's magic number.
func unpacked(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(in)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

// ReadTemplates reads a path as ReadPath does. Its Nodes are templates of nodes to add; other kinds are refused.
func (r *Reader) ReadTemplates(path string, stdin io.Reader) error {
	r.templates = true
	defer func() { r.templates = false }()
	return r.ReadPath(path, stdin)
}

// commit adds the results in order.
func (r *Reader) commit(parts []*part) {
	for _, p := range parts {
		for _, f := range p.found {
			switch {
			case len(r.errs) >= maximumErrors:
				return
			case f.err != nil:
				r.fail(f.at, f.err)
			case f.untyped != nil:
				r.fail(f.at, field.Required(field.NewPath("kind"), ""))
			case f.object == nil:
				r.skip(f)
			default:
				if err := r.take(*f.object, f.kind); err != nil {
					r.fail(f.at, err)
				}
			}
		}
	}
}

// skip counts a skipped object.
func (r *Reader) skip(f found) {
	if g := f.group; g != nil {
		r.unread.groups[cmp.Or(g.namespace, r.Namespace, metav1.NamespaceDefault)+"/"+g.name] = g.apiVersion
	}
	if r.ignores(f.typed) {
		return
	}
	if !f.quiet {
		r.unread.kinds[f.kind]++
	}
	if f.pods {
		r.unread.workloads[f.kind]++
	}
	if f.decides {
		r.unread.deciding[f.kind]++
	}
}

// Add adds an object of a live cluster.
func (r *Reader) Add(kind string, o metav1.Object) error {
	at := "cluster: " + kind + " " + o.GetName()
	if o.GetNamespace() != "" {
		at = "cluster: " + kind + " " + o.GetNamespace() + "/" + o.GetName()
	}
	return r.take(entry{kind: kinds[kind], at: at, object: o}, kind)
}

// take adds an object.
func (r *Reader) take(e entry, kind string) error {
	o := e.object
	switch kind {
	case "Node", "PriorityClass", "RuntimeClass", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
		"PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment":
	case "Namespace":
		r.spaces[o.GetName()] = true
	default:
		o.SetNamespace(cmp.Or(o.GetNamespace(), r.Namespace, metav1.NamespaceDefault))
		r.used[o.GetNamespace()] = true
	}
	if r.templates {
		r.builder.From(e.at)
		if err := e.kind.add(r.builder, o); !errors.As(err, new(*kube.Misread)) {
			return err
		}
		return nil
	}
	if o.GetName() == "" {
		r.entries = append(r.entries, &e)
		return nil
	}
	as := key(kind, o)
	known := r.known[as]
	switch {
	case known == nil:
		r.known[as] = &e
		r.entries = append(r.entries, &e)
		return nil
	case known.digest == e.digest && (e.file != 0 || o.GetUID() == known.object.GetUID()):
		return nil // a list that is read in parts may contain an object twice
	case known.file == e.file && e.file != 0:
		return &field.Error{
			Type: field.ErrorTypeDuplicate, Field: "metadata.name", BadValue: field.OmitValueType{},
			Detail: fmt.Sprintf("%s %q already exists: %s", kind, o.GetName(), known.at),
		}
	}
	return r.merge(known, e)
}

// key identifies an object of a kind.
func key(kind string, o metav1.Object) string {
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}

func (r *Reader) fail(at string, err error) {
	r.errs = append(r.errs, &ObjectError{at, err})
}

// invalid returns why the API server would refuse an object. An object from a cluster is valid until a manifest changes it.
func (e *entry) invalid() error {
	if e.object.GetUID() != "" && e.before == nil {
		return nil
	}
	errs := validate.Object(e.object)
	if more := len(errs) - maximumErrors; more > 0 {
		return fmt.Errorf("%w, and %d more errors", errs[:maximumErrors].ToAggregate(), more)
	}
	return errs.ToAggregate()
}

// Snapshot builds the snapshot. The Reader must not be used afterwards.
func (r *Reader) Snapshot() (*kube.Snapshot, error) {
	r.errs = nil
	r.builder.UnreadPodGroups(r.unread.groups)
	for _, e := range r.entries {
		r.builder.From(e.at)
		if err := e.invalid(); err != nil {
			if len(r.errs) < maximumErrors {
				r.fail(e.at, err)
			}
			continue
		}
		if e.before != nil {
			r.builder.Before(e.before)
		}
		err := e.kind.add(r.builder, e.object)
		if r.builder.Full() {
			break
		}
		if err != nil && !errors.As(err, new(*kube.Misread)) && len(r.errs) < maximumErrors {
			r.fail(e.at, err)
		}
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.used)) {
		r.builder.From("Namespace " + name)
		if r.spaces[name] {
			continue
		}
		if err := r.builder.AddNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, err
		}
	}
	return r.builder.Build()
}
