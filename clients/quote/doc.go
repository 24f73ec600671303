// Package quote writes untrusted text, such as the names of objects in a manifest, where it must remain text: in a shell, a terminal, a
// page, JSON and a log.
//
// Manifests with names that no API server accepts are refused before anything is printed (package validate), so most text needs no
// quoting. But not all text of an object is restricted, and paths and contexts of a kubeconfig have arbitrary names. Each sink has one
// function, which all printers use:
//
//   - [Shell] and [Command] for a POSIX shell; [Bare] for completion in any shell
//   - [Line] for a line of a terminal, a comment or an error
//   - [Terminal] for a terminal that gets lines and tables
//   - [XML] for HTML and SVG, before html/template or the like escapes markup
//   - [JSON] for JSON and for logs, which are JSON
package quote
