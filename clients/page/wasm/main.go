//go:build js

// Command wasm answers the questions of the command stowage inside a browser: the conversion of Kubernetes objects and the engine run in a
// worker of the page, and nothing leaves it. CEL expressions are evaluated by the program of package cel, which is loaded for the first one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall/js"

	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/cli"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/page/wasm/expressions"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

const (
	// maximumBytes bounds the manifests of a call: a browser gives a WebAssembly module at most 4 GiB.
	maximumBytes = 256 << 20
	// keptBytes is the size from which the objects of a file are kept for the next question.
	keptBytes = 1 << 20
)

// call is what the page hands over as JSON. The texts of its files are beside it.
type call struct {
	Verb   string              `json:"verb"`
	Values map[string][]string `json:"values"`
	Files  []file              `json:"files"`
}

type file struct {
	Parameter string `json:"parameter"`
	Name      string `json:"name"`
	Identity  string `json:"identity"` // of the text
	Bytes     int    `json:"bytes"`
}

// text is the text of a file, which JavaScript has until it is read. The text of objects that are kept is not.
type text struct {
	io.Reader
	of js.Value
}

func (t *text) Read(p []byte) (int, error) {
	if t.Reader == nil {
		t.Reader = strings.NewReader(t.of.String())
	}
	return t.Reader.Read(p)
}

// result is what the page gets as JSON. Errors are as in stowage serve.
type result struct {
	Exit   int             `json:"exit"`
	Answer string          `json:"answer"`
	Notes  string          `json:"notes"`
	Errors []verbs.Problem `json:"errors"`
}

var (
	evaluator = &expressions.Selectors{Start: start} // of the call that is answered
	answering sync.Mutex                             // calls are answered one after another: there is one processor
)

// start has JavaScript load the program that evaluates expressions, and waits for it.
func start() (func(string) string, error) {
	type loaded struct {
		evaluate js.Value
		err      error
	}
	done := make(chan loaded, 1)
	yes := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- loaded{evaluate: args[0]}
		return nil
	})
	no := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- loaded{err: errors.New(args[0].Get("message").String())}
		return nil
	})
	defer yes.Release()
	defer no.Release()
	js.Global().Call("stowageExpressions").Call("then", yes, no)
	l := <-done
	if l.err != nil {
		return nil, l.err
	}
	return func(question string) string { return l.evaluate.Invoke(question).String() }, nil
}

func main() {
	client, _, err := embedded.Dial(context.Background())
	if err != nil {
		panic(err)
	}
	a, err := cli.NewAnswerer(client)
	if err != nil {
		panic(err)
	}
	a.Keep(keptBytes)
	cli.Selectors = evaluator
	// A call returns a promise: the functions that JavaScript calls must not block.
	js.Global().Get("stowageReady").Invoke(js.FuncOf(func(_ js.Value, args []js.Value) any {
		question, texts := args[0].String(), args[1]
		var executor js.Func
		executor = js.FuncOf(func(_ js.Value, settle []js.Value) any {
			resolve := settle[0]
			go func() {
				defer executor.Release()
				resolve.Invoke(answer(a, question, texts))
			}()
			return nil
		})
		return js.Global().Get("Promise").New(executor)
	}))
	select {}
}

// answer answers a call. What is wrong is part of the result.
func answer(a verbs.Answerer, question string, texts js.Value) string {
	var c call
	r := result{Exit: 2, Errors: []verbs.Problem{}}
	if err := json.Unmarshal([]byte(question), &c); err != nil {
		r.Errors = append(r.Errors, verbs.Problem{Detail: err.Error()})
	} else {
		r.ask(a, &c, texts)
	}
	out, err := json.Marshal(r)
	if err != nil {
		panic(err) // a struct of texts
	}
	return string(out)
}

func (r *result) ask(a verbs.Answerer, c *call, texts js.Value) {
	question := &verbs.Call{Verb: c.Verb, Values: c.Values, Files: map[string][]verbs.Content{}, MaximumBytes: maximumBytes}
	for i, f := range c.Files {
		question.Files[f.Parameter] = append(question.Files[f.Parameter], verbs.Content{
			Name: f.Name, Reader: &text{of: texts.Index(i)}, Identity: f.Identity, Bytes: f.Bytes,
		})
	}
	answering.Lock()
	defer answering.Unlock()
	var out, notes bytes.Buffer
	exit, err := a.Answer(context.Background(), question, &out, &notes)
	r.Exit, r.Answer, r.Notes = exit, out.String(), notes.String()
	if evaluator.Err != nil {
		*r = result{Exit: 2, Errors: []verbs.Problem{{Detail: evaluator.Err.Error()}}}
		evaluator.Err = nil
		return
	}
	if invalid, ok := errors.AsType[*verbs.InvalidError](err); ok {
		r.Errors = invalid.Problems
	} else if err != nil {
		r.Errors = append(r.Errors, verbs.Problem{Detail: status.Convert(err).Message()})
	}
}
