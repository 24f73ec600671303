// Package dump lists the objects of a live cluster on which decisions depend. It only lists, in chunks.
package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// chunk is the number of objects per request, as in kubectl.
const chunk = 500

// Role is the name of the ClusterRole in deploy/reader with the required access.
const Role = "stowage-reader"

// Read lists the objects and adds each of them. It skips ended pods, which occupy nothing. It reads pods before nodes, so that a pod's
// node is known unless it is gone. It also skips kinds that the user may not list, and returns the reasons in forbidden, and kinds that
// the API server does not have.
func Read(ctx context.Context, config *rest.Config, add func(kind string, o metav1.Object) error) (forbidden []error, err error) {
	return each(ctx, config, func(k *kind, o metav1.Object) error { return add(k.name, o) })
}

// Write writes the objects of Read as kubectl get -o json prints objects of several kinds: as a List, in which each has its version and kind.
func Write(ctx context.Context, config *rest.Config, w io.Writer) (forbidden []error, err error) {
	if _, err := io.WriteString(w, `{"apiVersion":"v1","kind":"List","items":[`); err != nil {
		return nil, err
	}
	separator := "\n"
	forbidden, err = each(ctx, config, func(k *kind, o metav1.Object) error {
		o.(runtime.Object).GetObjectKind().SetGroupVersionKind(k.group.WithKind(k.name))
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		_, err = w.Write(append([]byte(separator), text...))
		separator = ",\n"
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(w, "]}\n")
	return forbidden, err
}

// each calls a function with each object.
func each(ctx context.Context, config *rest.Config, add func(k *kind, o metav1.Object) error) (forbidden []error, err error) {
	api, err := newClient(config)
	if err != nil {
		return nil, err
	}
	for i := range kinds {
		k := &kinds[i]
		pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.list(ctx, k, o) })
		pages.PageSize = chunk
		o := metav1.ListOptions{}
		if k.name == "Pod" {
			o.FieldSelector = running
		}
		objects, err := all(ctx, pages, o)
		for _, object := range objects {
			if err == nil {
				err = add(k, object)
			}
		}
		switch {
		case err == nil:
		case k.needed && apierrors.IsForbidden(err):
			return nil, fmt.Errorf("%w: ClusterRole %s has the required access", err, Role)
		case !k.needed && apierrors.IsForbidden(err):
			forbidden = append(forbidden, err)
		case !k.needed && apierrors.IsNotFound(err):
		case ctx.Err() != nil:
			return nil, errors.New("interrupted")
		default:
			return nil, fmt.Errorf("cannot list %s: %w", k.resource, err)
		}
	}
	return forbidden, nil
}

// expiries bounds the restarts of a list whose state has expired on the API server.
const expiries = 3

// all returns the objects of all pages of a list.
func all(ctx context.Context, pages *pager.ListPager, o metav1.ListOptions) (objects []metav1.Object, err error) {
	for range 1 + expiries {
		objects = objects[:0]
		err = pages.EachListItem(ctx, o, func(item runtime.Object) error {
			listed, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			if !object.IsApplied(listed) {
				listed.SetManagedFields(nil)
			}
			objects = append(objects, listed)
			return nil
		})
		if !apierrors.IsResourceExpired(err) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return objects, nil
}

var running = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", "Succeeded"),
	fields.OneTermNotEqualSelector("status.phase", "Failed"),
).String()
