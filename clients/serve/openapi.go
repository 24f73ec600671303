package serve

import (
	"encoding/json"
	"maps"

	"github.com/stowage-scheduler/stowage/clients/verbs"
	"github.com/stowage-scheduler/stowage/server/version"
)

type object = map[string]any

// openAPI describes the paths of the verbs, and of a cluster if there is one. The schemas of answers are documents of their own.
func openAPI(all []verbs.Verb, cluster bool) ([]byte, error) {
	paths := object{}
	for _, v := range all {
		paths["/v1/"+v.Name] = object{"post": operation(&v)}
	}
	paths["/healthz"] = object{"get": object{
		"summary": "Health.", "security": []object{},
		"responses": object{"200": object{"description": "The server answers.", "content": object{"text/plain": object{}}}},
	}}
	paths["/schemas/{verb}.json"] = object{"get": object{
		"summary":    "The JSON Schema of a question's answers.",
		"parameters": []object{{"name": "verb", "in": "path", "required": true, "schema": object{"type": "string"}}},
		"responses":  object{"200": object{"description": "The schema.", "content": object{"application/schema+json": object{}}}, "default": problem("An error.")},
	}}
	if cluster {
		paths[clusterPath] = object{"post": object{
			"summary": "The objects of the cluster, as kubectl get -o json prints them. For callers on this machine.",
			"responses": object{
				"200": object{
					"description": "A List.", "content": object{"application/json": object{}},
					"headers": object{Notes: object{"description": "Kinds that may not be listed. Absent if there are none.", "schema": object{"type": "string"}}},
				},
				"422": problem("The cluster has more than --max-body."), "429": later("The cluster is being read for another request."),
				"502": problem("The cluster cannot be read."), "default": problem("An error."),
			},
		}}
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Stowage", "version": version.Current(),
			"description": "Scheduling questions about Kubernetes objects, which are the body of a request: as kubectl get -o json prints them, or manifests.",
		},
		"paths":    paths,
		"security": []object{{"token": []string{}}, {}}, // none is needed without --token-file
		"components": object{"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}, "schemas": object{"Problem": object{
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
			"413":     problem("The body has more than --max-body."),
			"422":     problem("The answer, or the pods that the workloads become, are too many."),
			"429":     later("The server has no room or no processor now."),
			"503":     later("The server that decides is not there now."),
			"default": problem("An error."),
		},
	}
}

// problem describes an error.
func problem(description string) object {
	return object{
		"description": description,
		"content":     object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
	}
}

// later describes an error after which the request may be made again.
func later(description string) object {
	out := problem(description)
	out["headers"] = object{"Retry-After": object{"description": "The seconds until then. Absent if it does not help.", "schema": object{"type": "integer"}}}
	return out
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
