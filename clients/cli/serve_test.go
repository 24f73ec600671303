package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/serve"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// answerer returns what answers calls, with a server in this process.
func answerer(t *testing.T) *cli.Answerer {
	t.Helper()
	client, stop, err := embedded.Dial(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	a, err := cli.NewAnswerer(client)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// callOf is the call of a command line. Its files have names, and no contents.
func callOf(t *testing.T, a *cli.Answerer, args []string) *verbs.Call {
	t.Helper()
	all := a.Verbs()
	v := &all[slices.IndexFunc(all, func(v verbs.Verb) bool { return v.Name == args[0] })]
	c := &verbs.Call{Verb: v.Name, MaximumBytes: 1 << 30, Values: map[string][]string{}, Files: map[string][]verbs.Content{}}
	for i := 1; i < len(args); i++ {
		flag, value, given := strings.Cut(args[i], "=")
		if long := map[string]string{"-f": "--file", "-o": "--output"}[flag]; long != "" {
			flag = long
		}
		name, isFlag := strings.CutPrefix(flag, "--")
		p := v.Parameter(name)
		switch {
		case !isFlag:
			name, value = v.Parameters[len(v.Parameters)-1].Name, args[i]
		case !given && p.Kind == verbs.Switch:
			value = "true"
		case !given:
			i++
			value = args[i]
		}
		if p == nil || p.Kind != verbs.File {
			c.Values[name] = append(c.Values[name], value)
		} else {
			c.Files[name] = append(c.Files[name], verbs.Content{Name: value})
		}
	}
	return c
}

// form writes the call of a command line as a form, in which files have the names that they have in a directory.
func form(t *testing.T, a *cli.Answerer, args []string) (body *bytes.Buffer, contentType string) {
	t.Helper()
	c := callOf(t, a, args)
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for name, values := range c.Values {
		for _, value := range values {
			must(t, w.WriteField(name, value))
		}
	}
	for name, files := range c.Files {
		for _, f := range files {
			part, err := w.CreateFormFile(name, f.Name)
			must(t, err)
			text, err := os.ReadFile(f.Name)
			must(t, err)
			_, err = part.Write(text)
			must(t, err)
		}
	}
	must(t, w.Close())
	return body, w.FormDataContentType()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inDirectory copies the files of a command line into a directory, without the directories in their names.
func inDirectory(t *testing.T, directory string, args []string) []string {
	t.Helper()
	var out []string
	for _, arg := range args {
		if strings.HasSuffix(arg, ".yaml") {
			text, err := os.ReadFile(arg)
			must(t, err)
			arg = filepath.Base(arg)
			must(t, os.WriteFile(filepath.Join(directory, arg), text, 0o600))
		}
		out = append(out, arg)
	}
	return out
}

// eachCommand runs the command of every example and every verb in a directory of its own, and has what it printed tried.
func eachCommand(t *testing.T, try func(t *testing.T, args []string, exit int, want, notes *bytes.Buffer)) {
	t.Helper()
	for _, args := range jsonCommands(t) {
		directory := t.TempDir()
		args = inDirectory(t, directory, args)
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Chdir(directory)
			var want, notes bytes.Buffer
			exit := cli.Run(t.Context(), args, nil, &want, &notes)
			try(t, args, exit, &want, &notes)
		})
	}
}

// TestServedAnswersAreThoseOfTheCommand puts every example and every verb over HTTP: the answers are the bytes that the command prints.
func TestServedAnswersAreThoseOfTheCommand(t *testing.T) {
	a := answerer(t)
	handler, err := serve.NewHandler(a, serve.Defaults())
	must(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	tried := map[string]bool{}
	eachCommand(t, func(t *testing.T, args []string, exit int, want, notes *bytes.Buffer) {
		body, contentType := form(t, a, args)
		response, err := http.Post(server.URL+"/v1/"+args[0], contentType, body)
		must(t, err)
		defer func() { _ = response.Body.Close() }()
		got, err := io.ReadAll(response.Body)
		must(t, err)
		if status := response.Header.Get(serve.ExitStatus); status != strconv.Itoa(exit) || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("exit status %s, want %d\n%s\nwant\n%s%s", status, exit, got, want.Bytes(), notes.Bytes())
		}
		tried[args[0]] = true
	})
	for _, v := range a.Verbs() {
		if !tried[v.Name] {
			t.Errorf("%s is not tried", v.Name)
		}
	}
}

// TestKeptObjectsChangeNoAnswer puts every example and every verb to an Answerer that keeps objects: three times, the last time after a call
// with the first file alone. The answers equal the answers of the command, and kept files are not read again.
func TestKeptObjectsChangeNoAnswer(t *testing.T) {
	a := answerer(t)
	a.Keep(0)
	eachCommand(t, func(t *testing.T, args []string, exit int, want, notes *bytes.Buffer) {
		all := callOf(t, a, args)
		first := *all
		first.Files = map[string][]verbs.Content{"file": all.Files["file"][:1]}
		for i, c := range []*verbs.Call{all, all, &first, all} {
			read, closed := 0, *c
			closed.Files = map[string][]verbs.Content{}
			for parameter, files := range c.Files {
				for _, f := range files {
					text, err := os.ReadFile(f.Name)
					must(t, err)
					f.Reader, f.Identity, f.Bytes = &counted{bytes.NewReader(text), &read}, string(text), len(text)
					closed.Files[parameter] = append(closed.Files[parameter], f)
				}
			}
			var got bytes.Buffer
			status, err := a.Answer(t.Context(), &closed, &got, io.Discard)
			if c == all && (err != nil || status != exit || !bytes.Equal(got.Bytes(), want.Bytes())) {
				t.Errorf("%d: exit status %d, want %d, %v\n%s\nwant\n%s%s", i, status, exit, err, got.Bytes(), want.Bytes(), notes.Bytes())
			}
			if others := len(c.Files) - 1; i == 1 && read > others {
				t.Errorf("%d files are read again, and %d parameters have others", read, others)
			}
		}
	})
}

// counted counts a file once it is read.
type counted struct {
	*bytes.Reader
	files *int
}

func (c *counted) Read(p []byte) (int, error) {
	if c.Len() == int(c.Size()) {
		*c.files++
	}
	return c.Reader.Read(p)
}

// TestServedFlags holds that a served verb has the flags of its command but for flags that reach this machine.
func TestServedFlags(t *testing.T) {
	local := map[string]bool{}
	for _, name := range []string{
		"kustomize", "recursive", "cluster", "kubeconfig", "context", "color", "watch", "server", "stowage-ca-file", "stowage-cert-file",
		"stowage-key-file", "stowage-token-file", "stowage-server-name", "help", "version",
	} {
		local[name] = true
	}
	for _, v := range answerer(t).Verbs() {
		var help bytes.Buffer
		cli.Run(t.Context(), []string{v.Name, "--help"}, nil, &help, io.Discard)
		flags := 0
		for line := range strings.Lines(help.String()) {
			_, flag, found := strings.Cut(line, "--")
			if !found || !strings.HasPrefix(strings.TrimSpace(line), "-") {
				continue
			}
			flag = strings.TrimRight(flag[:strings.IndexAny(flag+" ", "= ,\n")], ".")
			flags++
			if p := v.Parameter(flag); (p == nil) != local[flag] {
				t.Errorf("%s --%s: served is %v", v.Name, flag, p != nil)
			}
		}
		if flags < 15 {
			t.Errorf("%s has only %d flags", v.Name, flags)
		}
	}
}

// TestServedCallsReachNoFile gives the path of a file to every parameter, as a value and as the name of a file: no answer has what is in it.
func TestServedCallsReachNoFile(t *testing.T) {
	const secret = "swordfish"
	path := filepath.Join(t.TempDir(), "secret.yaml")
	must(t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Node\nmetadata: {name: "+secret+"}\n"), 0o600))
	a := answerer(t)
	tried := 0
	for _, v := range a.Verbs() {
		for _, p := range v.Parameters {
			for _, value := range []string{path, "@" + path, "file://" + path} {
				c := &verbs.Call{Verb: v.Name, MaximumBytes: 1 << 20, Values: map[string][]string{}, Files: map[string][]verbs.Content{
					"file": {{Name: path, Reader: strings.NewReader("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")}},
				}}
				if p.Kind == verbs.File {
					c.Files[p.Name] = append(c.Files[p.Name], verbs.Content{Name: value, Reader: strings.NewReader("")})
				} else {
					c.Values[p.Name] = []string{value}
				}
				var out, notes bytes.Buffer
				_, err := a.Answer(t.Context(), c, &out, &notes)
				text := out.String() + notes.String()
				if err != nil {
					text += err.Error()
				}
				if strings.Contains(text, secret) {
					t.Errorf("%s %s=%s: %s", v.Name, p.Name, value, text)
				}
				tried++
			}
		}
	}
	if tried < 300 {
		t.Errorf("%d values are tried", tried)
	}
}

// TestServedErrorsHaveFields sends objects that are wrong, one way at a time: the problem has the object and the field beside the detail.
func TestServedErrorsHaveFields(t *testing.T) {
	handler, err := serve.NewHandler(answerer(t), serve.Defaults())
	must(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i%s}]}\n"
	template := "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
	for name, c := range map[string]struct {
		body string
		want verbs.Problem
	}{
		"an unknown field": {fmt.Sprintf(pod, ", imagee: x"), verbs.Problem{Object: "Pod x", Field: "spec.containers[0].imagee", Detail: `unknown field`}},
		"a repeated field": {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"nodeName":"a","nodeName":"b"}}`, verbs.Problem{Object: "Pod x", Field: "spec.nodeName", Detail: "duplicate field"}},
		"another type":     {fmt.Sprintf(pod, ", command: x"), verbs.Problem{Object: "Pod x", Field: "spec.containers[0].command", Detail: "must be a list, is a string"}},
		"no quantity":      {fmt.Sprintf(pod, ", resources: {requests: {cpu: x}}"), verbs.Problem{Object: "Pod x", Field: "spec.containers[0].resources.requests", Detail: ""}},
		"a wrong value":    {strings.Replace(fmt.Sprintf(pod, ""), "spec: {", "spec: {tolerations: [{operator: Maybe}], ", 1), verbs.Problem{Object: "Pod x", Field: "spec.tolerations[0].operator", Detail: "Maybe"}},
		"no selector":      {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {" + template + "}\n", verbs.Problem{Object: "Deployment web", Field: "spec.selector", Detail: "Required value"}},
		"no kind":          {"apiVersion: v1\nmetadata: {name: x}\n", verbs.Problem{Object: "document 1", Field: "kind", Detail: "Required value"}},
		"two of one name":  {fmt.Sprintf(pod, "") + "---\n" + fmt.Sprintf(pod, ", workingDir: a"), verbs.Problem{Object: "Pod x", Field: "metadata.name", Detail: "Duplicate value"}},
	} {
		response, err := http.Post(server.URL+"/v1/place", "", strings.NewReader(c.body))
		must(t, err)
		var got struct{ Errors []verbs.Problem }
		must(t, json.NewDecoder(response.Body).Decode(&got))
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest || len(got.Errors) == 0 {
			t.Errorf("%s: %d %v", name, response.StatusCode, got.Errors)
			continue
		}
		p := got.Errors[0]
		if !strings.HasPrefix(p.Object, "body: document ") || !strings.HasSuffix(p.Object, c.want.Object) || !strings.HasPrefix(p.Field, c.want.Field) || !strings.Contains(p.Detail, c.want.Detail) {
			t.Errorf("%s: %q, want %q", name, p, c.want)
		}
		t.Logf("%s: %q %q %q", name, p.Object, p.Field, p.Detail)
	}
}

// TestServedParametersHaveOneValue repeats parameters: the answer would have one of the values, and the header of its type another.
func TestServedParametersHaveOneValue(t *testing.T) {
	handler, err := serve.NewHandler(answerer(t), serve.Defaults())
	must(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, c := range []struct {
		flags []string
		code  int
		field string
	}{
		{[]string{"place", "--output=json"}, http.StatusOK, ""},
		{[]string{"place", "--output=html", "--output=json"}, http.StatusBadRequest, "output"},
		{[]string{"place", "--seed=1", "--seed=1"}, http.StatusBadRequest, "seed"},
		{[]string{"drain", "a", "b"}, http.StatusOK, ""},
	} {
		query := url.Values{}
		for _, flag := range c.flags[1:] {
			if name, value, found := strings.Cut(flag, "="); found {
				query.Add(strings.TrimPrefix(name, "--"), value)
			} else {
				query.Add("node", flag)
			}
		}
		response, err := http.Post(server.URL+"/v1/"+c.flags[0]+"?"+query.Encode(), "", strings.NewReader(nodeA+strings.Replace(nodeA, "name: a", "name: b", 1)))
		must(t, err)
		var got struct{ Errors []verbs.Problem }
		must(t, json.NewDecoder(response.Body).Decode(&got))
		_ = response.Body.Close()
		if response.StatusCode != c.code || c.field != "" && (len(got.Errors) != 1 || got.Errors[0].Field != c.field) {
			t.Errorf("%v: %d %v", c.flags, response.StatusCode, got.Errors)
		}
	}
}
