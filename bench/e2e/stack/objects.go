package stack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Objects creates objects of any kind.
type Objects struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// NewObjects makes the client.
func NewObjects(discovery discovery.DiscoveryInterface, config *rest.Config) (*Objects, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", "" // of any kind, so JSON
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Objects{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery))}, nil
}

// Of is where objects of a kind and namespace are.
func (o *Objects) Of(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := u.GroupVersionKind()
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "root" {
		return o.client.Resource(mapping.Resource), nil
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	return o.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// Create creates an object, whose fields must all be known; a namespace may be there already.
func (o *Objects) Create(ctx context.Context, u *unstructured.Unstructured, dryRun ...string) error {
	resource, err := o.Of(u)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, u, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsAlreadyExists(err) && u.GetKind() == "Namespace" {
		return nil
	}
	return err
}

// Read reads the objects of a manifest.
func Read(path string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var out []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
}
