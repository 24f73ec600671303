// Package schema has the JSON Schema of the documents that each verb of stowage prints with -o json. The schemas are generated from the
// types of the documents.
//
// A schema describes the documents of its own release, and allows no other fields and values. Newer releases of one apiVersion may have
// more of both: a program that reads their documents has to ignore these, or validate with their schema.
package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.json
var files embed.FS

// Of returns the JSON Schema (draft 2020-12) of the documents of a verb, such as place.
func Of(verb string) ([]byte, error) {
	text, err := files.ReadFile(verb + ".json")
	if err != nil {
		return nil, fmt.Errorf("%q has no schema, only %s have one", verb, strings.Join(Verbs(), ", "))
	}
	return text, nil
}

// Verbs lists the verbs with a schema. The verb place-watch is place with --watch: its schema is for each part that arrives.
func Verbs() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range all {
		out = append(out, strings.TrimSuffix(f.Name(), ".json"))
	}
	return out
}
