// Package page has the page of stowage serve: the cluster as a picture, the answers of the verbs, and changes to try.
//
// Its source is TypeScript in src; make page builds the files here and, with the engine as WebAssembly, a folder that needs no server.
package page

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var files embed.FS

// policy lets the page load its own files and nothing else. WebAssembly and its worker are for folders that need no server: the policy in
// index.html allows them, and a browser allows what both policies do.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Paths are the paths of the page.
func Paths() []string { return []string{"/", "/page.js", "/page.css", "/examples.json"} }

// Handler serves the page.
func Handler() http.Handler {
	root, err := fs.Sub(files, "files")
	if err != nil {
		panic(err) // it is embedded
	}
	serve := http.FileServerFS(root)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, r)
	})
}
