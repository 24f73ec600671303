package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

const (
	// MaximumBytes bounds the input of a Reader: some 200,000 pods as kubectl prints them.
	MaximumBytes = 1 << 30
	// maximumErrors is the number of errors after which reading stops.
	maximumErrors = 20
	// maximumListDepth bounds nested lists; each is scanned once for every list around it.
	maximumListDepth = 2
)

// Reader reads manifests into a snapshot.
type Reader struct {
	// Namespace is that of objects that state none.
	Namespace string
	// Recursive makes ReadPath read directories in directories.
	Recursive bool
	// Apply applies a manifest to an object of a cluster, apply.Manifest; into is an empty object of its type. Without it such a
	// manifest is an error.
	Apply func(current, into metav1.Object, manifest map[string]any) (metav1.Object, error)

	options   kube.Options
	builder   *kube.Builder
	bytesLeft int64
	skipped   map[string]int  // objects by kind
	workloads map[string]int  // those with pods
	used      map[string]bool // namespaces of objects
	stated    map[string]bool // Namespace objects
	entries   []*entry
	known     map[string]*entry // by kind, namespace and name
	file      int               // counts the files
	told      []string
	toldCount int
	errs      []error
	templates bool // whether Nodes are templates
}

// NewReader returns a Reader. The options are those of the snapshot.
func NewReader(o kube.Options) *Reader {
	return &Reader{
		options:   o,
		builder:   kube.NewBuilder(o),
		bytesLeft: MaximumBytes,
		skipped:   map[string]int{},
		workloads: map[string]int{},
		used:      map[string]bool{},
		stated:    map[string]bool{},
		known:     map[string]*entry{},
	}
}

// Read reads the documents of one file, which may be compressed by gzip; errors contain name. An object that was read before does
// not count again. One of another file that differs under the same name changes or replaces it, see the package documentation; in
// one file that is an error. The error lists everything that is wrong, up to a number.
func (r *Reader) Read(name string, in io.Reader) error {
	r.errs = nil
	r.file++
	plain, err := unpacked(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	limited := &io.LimitedReader{R: plain, N: r.bytesLeft + 1}
	r.documents(name, bufio.NewReader(limited))
	r.bytesLeft = limited.N - 1
	if r.bytesLeft < 0 {
		return fmt.Errorf("%s: more than %d bytes of manifests", name, MaximumBytes)
	}
	return errors.Join(r.errs...)
}

// unpacked returns what is compressed by gzip, which its first bytes tell, uncompressed.
func unpacked(in io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(in)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	return gzip.NewReader(buffered)
}

// ReadTemplates reads a path as ReadPath does. Its Nodes are templates of nodes to add, and everything else is refused.
func (r *Reader) ReadTemplates(path string, stdin io.Reader) error {
	r.templates = true
	defer func() { r.templates = false }()
	return r.ReadPath(path, stdin)
}

// documents splits a file. JSON is recognized by its first character, and JSON values may follow one another without a
// separator.
func (r *Reader) documents(name string, in *bufio.Reader) {
	docs := utilyaml.NewYAMLReader(in)
	for n := 1; ; n++ {
		at := fmt.Sprintf("%s: document %d", name, n)
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) || len(r.errs) >= maximumErrors {
			return
		}
		if err != nil {
			r.fail(at, err)
			return
		}
		if !utilyaml.IsJSONBuffer(doc) {
			r.yamlDocument(at, doc)
			continue
		}
		values := json.NewDecoder(bytes.NewReader(doc))
		for first := true; ; first = false {
			var raw json.RawMessage
			err := values.Decode(&raw)
			if err == io.EOF {
				n--
				break
			}
			at := fmt.Sprintf("%s: document %d", name, n)
			if err != nil && first {
				// YAML in flow style also starts with a brace.
				r.yamlDocument(at, doc)
				break
			}
			if err != nil {
				r.fail(at, err)
				break
			}
			r.value(at, raw, metav1.TypeMeta{}, 0)
			n++
		}
	}
}

func (r *Reader) yamlDocument(at string, doc []byte) {
	raw, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		r.fail(at, err)
		return
	}
	if string(raw) != "null" {
		r.value(at, raw, metav1.TypeMeta{}, 0)
	}
}

// value reads an object or a list; implied is the type of an object without one, depth the number of lists around it.
func (r *Reader) value(at string, raw []byte, implied metav1.TypeMeta, depth int) {
	if len(r.errs) >= maximumErrors {
		return
	}
	head := struct {
		metav1.TypeMeta
		Metadata struct{ Name, GenerateName string }
		Items    *[]json.RawMessage
	}{}
	if err := json.Unmarshal(raw, &head); err != nil {
		r.fail(at, err)
		return
	}
	if head.Kind == "" {
		head.TypeMeta = implied
	}
	if head.Kind == "" {
		r.fail(at, errors.New("kind: Required value"))
		return
	}
	if item, isList := itemKind(head.Kind); isList && head.Items != nil {
		if depth == maximumListDepth {
			r.fail(at, errors.New("items: lists within lists within lists"))
			return
		}
		items := metav1.TypeMeta{}
		if item != "" {
			items = metav1.TypeMeta{APIVersion: head.APIVersion, Kind: item}
		}
		for i, raw := range *head.Items {
			r.value(fmt.Sprintf("%s: items[%d]", at, i), raw, items, depth+1)
		}
		return
	}
	k, ok := kinds[head.Kind]
	if r.templates {
		if head.Kind != "Node" {
			r.fail(at, fmt.Errorf("kind: %q is not allowed, only Node is", head.Kind))
			return
		}
		k = nodeTemplates
	}
	if name, other := k.ofOthers(head.TypeMeta); other {
		r.skip(name, raw)
		return
	}
	if !ok {
		r.skip(head.Kind, raw)
		return
	}
	if !slices.Contains(k.apiVersions, head.APIVersion) && head.APIVersion != "" {
		r.skip(head.APIVersion+" "+head.Kind, raw)
		return
	}
	at += ": " + head.Kind + " " + head.Metadata.Name
	if head.APIVersion == "" {
		r.fail(at, field.NotSupported(field.NewPath("apiVersion"), head.APIVersion, k.apiVersions))
		return
	}
	if head.Metadata.Name == "" && head.Kind != "Pod" && (head.Kind != "Job" || head.Metadata.GenerateName == "") {
		r.fail(at, errors.New("metadata.name: Required value"))
		return
	}
	if err := r.object(entry{kind: k, at: at, file: r.file}, head.Kind, raw); err != nil {
		r.fail(at, err)
	}
}

// object reads an object of a kind that decisions depend on.
func (r *Reader) object(e entry, kind string, raw []byte) error {
	e.object, e.digest = e.kind.empty(), sha256.Sum256(raw)
	if err := decode(raw, e.object); err != nil {
		return err
	}
	if e.object.GetUID() == "" {
		e.raw = raw
	}
	return r.take(e, kind)
}

// Add takes in an object that was read from a cluster.
func (r *Reader) Add(kind string, o metav1.Object) error {
	at := "cluster: " + kind + " " + o.GetName()
	if o.GetNamespace() != "" {
		at = "cluster: " + kind + " " + o.GetNamespace() + "/" + o.GetName()
	}
	return r.take(entry{kind: kinds[kind], at: at, object: o}, kind)
}

// take takes in an object.
func (r *Reader) take(e entry, kind string) error {
	o := e.object
	switch kind {
	case "Node", "PriorityClass", "RuntimeClass", "DeviceClass":
	case "Namespace":
		r.stated[o.GetName()] = true
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
		return nil // a list that is read in parts may state an object twice
	case known.file == e.file && e.file != 0:
		return fmt.Errorf("metadata.name: Duplicate value: %s %q is there already: %s", kind, o.GetName(), known.at)
	}
	return r.merge(known, e)
}

// key identifies an object of a kind.
func key(kind string, o metav1.Object) string {
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}

func (r *Reader) fail(at string, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", at, err))
}

// Snapshot builds the snapshot. The Reader must not be used afterwards.
func (r *Reader) Snapshot() (*kube.Snapshot, error) {
	r.errs = nil
	for _, e := range r.entries {
		r.builder.From(e.at)
		if e.before != nil {
			r.builder.Before(e.before)
		}
		err := e.kind.add(r.builder, e.object)
		if err != nil && !errors.As(err, new(*kube.Misread)) && len(r.errs) < maximumErrors {
			r.fail(e.at, err)
		}
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.used)) {
		r.builder.From("Namespace " + name)
		if r.stated[name] {
			continue
		}
		if err := r.builder.AddNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, err
		}
	}
	return r.builder.Build()
}

// Skipped returns the numbers of objects that were not read, by kind.
func (r *Reader) Skipped() []string { return counted(r.skipped) }

// SkippedWorkloads returns the numbers of objects with pods that were not read, by kind.
func (r *Reader) SkippedWorkloads() []string { return counted(r.workloads) }

func counted(kinds map[string]int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, fmt.Sprintf("%d %s", kinds[k], k))
	}
	return out
}

// skip counts an object of a kind that is not read.
func (r *Reader) skip(kind string, raw []byte) {
	r.skipped[kind]++
	var object struct{ Spec any }
	if json.Unmarshal(raw, &object) == nil && statesPods(object.Spec) {
		r.workloads[kind]++
	}
}

// statesPods reports whether a spec is that of a workload: it contains a list of containers, or has a template with a spec,
// as that of a virtual machine, or a number of replicas.
func statesPods(spec any) bool {
	fields, _ := spec.(map[string]any)
	template, _ := fields["template"].(map[string]any)
	_, made := template["spec"].(map[string]any)
	replicas, _ := fields["replicas"].(float64)
	return made || replicas > 0 || statesContainers(spec)
}

// statesContainers reports whether a spec contains a list of containers, as that of every workload does.
func statesContainers(tree any) bool {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			if _, isList := value.([]any); isList && key == "containers" || statesContainers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(t, statesContainers)
	}
	return false
}
