//go:build !js

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stowage-scheduler/stowage/clients/dump"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

var errNoKubeconfig = errors.New("there is no kubeconfig to read a cluster with")

// config returns how the cluster is reached, and the namespace of the context.
func (c *cluster) config() (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	config, err = loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && c.Kubeconfig == "":
		return nil, "", errNoKubeconfig
	case err != nil:
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return config, namespace, nil
}

// read reads the objects of the cluster. Kinds that may not be read are forbidden.
func (c *cluster) read(ctx context.Context, r *manifest.Reader) (forbidden []error, err error) {
	config, namespace, err := c.config()
	switch {
	case errors.Is(err, errNoKubeconfig):
		return nil, fmt.Errorf("%w, and no manifest: name one with --kubeconfig or --file", err)
	case err != nil:
		return nil, err
	}
	r.Namespace = cmp.Or(c.Namespace, namespace)
	if forbidden, err = dump.Read(ctx, config, r.Add); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", config.Host, err)
	}
	return forbidden, nil
}

// write writes the objects of the cluster as a List, and returns a note about kinds that may not be read.
func (c *cluster) write(ctx context.Context, w io.Writer) (note string, err error) {
	config, _, err := c.config()
	if err != nil {
		return "", err
	}
	forbidden, err := dump.Write(ctx, config, w)
	if err != nil {
		return "", fmt.Errorf("cluster %s: %w", config.Host, err)
	}
	if len(forbidden) > 0 {
		note = unread(forbidden)
	}
	return note, nil
}

// unread is a note about kinds that may not be read.
func unread(forbidden []error) string {
	more := ""
	if len(forbidden) > 1 {
		more = ", nor may " + strings.Join(resources(forbidden[1:]), ", ")
	}
	return fmt.Sprintf("not read: %v%s: ClusterRole %s has the access that is needed", forbidden[0], more, dump.Role)
}

// resources returns the resources that errors of the API server are about.
func resources(errs []error) []string {
	var out []string
	for _, err := range errs {
		if status := (apierrors.APIStatus)(nil); errors.As(err, &status) && status.Status().Details != nil {
			out = append(out, status.Status().Details.Kind)
		}
	}
	return out
}
