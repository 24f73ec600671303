package serve

import (
	"encoding/json"
	"maps"

	"github.com/stowage-scheduler/stowage/clients/verbs"
	"github.com/stowage-scheduler/stowage/server/version"
)

type object = map[string]any

// openAPI describes the paths of the verbs. The schemas of answers are documents of their own.
func openAPI(all []verbs.Verb) ([]byte, error) {
	paths := object{}
	for _, v := range all {
		paths["/v1/"+v.Name] = object{"post": operation(&v)}
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Stowage", "version": version.Current(),
			"description": "Scheduling questions about Kubernetes objects, which are the body of a request: as kubectl get -o json prints them, or manifests.",
		},
		"paths": paths,
		"components": object{"schemas": object{"Problem": object{
			"type": "object", "required": []string{"title", "status", "errors"},
			"properties": object{
				"title": object{"type": "string"}, "status": object{"type": "integer"},
				"errors": object{"type": "array", "items": object{
					"type": "object", "required": []string{"detail"},
					"properties": object{
						"object": object{"type": "string", "description": "The file and the object."},
						"field":  object{"type": "string", "description": "The path in the object, or the parameter."},
						"detail": object{"type": "string"},
					},
				}},
			},
		}}},
	}, "", "  ")
}

// operation describes a verb.
func operation(v *verbs.Verb) object {
	var query []object
	form, required := object{}, []string{"file"}
	for _, p := range v.Parameters {
		value := valueSchema(&p)
		if p.Kind != verbs.File {
			query = append(query, object{"name": p.Name, "in": "query", "description": p.Help, "schema": value})
		}
		property := object{"description": p.Help}
		maps.Copy(property, value)
		form[p.Name] = property
		if p.Required {
			required = append(required, p.Name)
		}
	}
	objects := object{"schema": object{"type": "string", "format": "binary"}}
	return object{
		"operationId": v.Name, "summary": v.Help, "parameters": query,
		"requestBody": object{"required": true, "content": object{
			"application/json": object{}, "application/yaml": objects, "application/gzip": objects,
			"multipart/form-data": object{"schema": object{"type": "object", "properties": form, "required": required}},
		}},
		"responses": object{
			"200": object{
				"description": "The answer.",
				"headers": object{ExitStatus: object{
					"description": "0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise.", "schema": object{"type": "integer"},
				}},
				"content": object{"application/json": object{"schema": object{"$ref": "schemas/" + v.Name + ".json"}}},
			},
			"default": object{
				"description": "An error.",
				"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
			},
		},
	}
}

// valueSchema is the schema of a parameter's values.
func valueSchema(p *verbs.Parameter) object {
	one := p.Schema()
	if p.Kind == verbs.File {
		one["format"] = "binary"
	}
	if p.Default != "" && p.Kind != verbs.Switch {
		one["default"] = p.Default
	}
	if p.Repeated {
		return object{"type": "array", "items": one}
	}
	return one
}
