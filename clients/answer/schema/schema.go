// Package schema has the JSON Schema of the documents that each verb of stowage prints with -o json. The schemas are generated from the
// types of the documents.
//
// A schema describes the documents of its own release, and allows no other fields and values. Newer releases of one apiVersion may have
// more of both: a program that reads their documents has to ignore these, or validate with their schema.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

//go:embed *.json
var files embed.FS

// definitions is the file with the types that schemas share. In the files a schema names them in this file, and Of adds them to it.
const definitions = "definitions.json"

// Of returns the JSON Schema (draft 2020-12) of the documents of a verb, such as place. It refers to nothing outside of it.
func Of(verb string) ([]byte, error) {
	text, err := files.ReadFile(verb + ".json")
	if err != nil || verb+".json" == definitions {
		return nil, fmt.Errorf("%q has no schema, only %s have one", verb, strings.Join(Verbs(), ", "))
	}
	shared, err := files.ReadFile(definitions)
	if err != nil {
		return nil, err
	}
	var schema map[string]json.RawMessage
	var all struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	text = bytes.ReplaceAll(text, []byte(definitions+"#"), []byte("#"))
	if err := errors.Join(json.Unmarshal(text, &schema), json.Unmarshal(shared, &all)); err != nil {
		return nil, err
	}
	used := map[string]json.RawMessage{}
	addReferences(used, all.Defs, text)
	if schema["$defs"], err = json.Marshal(used); err != nil {
		return nil, err
	}
	return json.MarshalIndent(schema, "", "  ")
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// addReferences adds the definitions that a text refers to, and further definitions to which these refer.
func addReferences(to, all map[string]json.RawMessage, text []byte) {
	for _, match := range reference.FindAllSubmatch(text, -1) {
		name := string(match[1])
		if to[name] == nil {
			to[name] = all[name]
			addReferences(to, all, all[name])
		}
	}
}

// Verbs lists the verbs with a schema. The verb place-watch is place with --watch: its schema is for each part that arrives.
func Verbs() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range all {
		if f.Name() == definitions {
			continue
		}
		out = append(out, strings.TrimSuffix(f.Name(), ".json"))
	}
	return out
}
