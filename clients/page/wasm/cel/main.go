//go:build js

// Command cel evaluates the CEL expressions of devices inside a browser. It is a program apart, which the page loads only for manifests that
// have expressions: clients/page/wasm puts them to it.
package main

import (
	"syscall/js"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/page/wasm/expressions"
)

func main() {
	s := cel.New()
	// Evaluation starts no goroutine and waits for nothing, so that JavaScript gets the answer at once.
	js.Global().Get("stowageReady").Invoke(js.FuncOf(func(_ js.Value, args []js.Value) any {
		return expressions.Answer(s, args[0].String())
	}))
	select {}
}
