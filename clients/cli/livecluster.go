//go:build !js

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stowage-scheduler/stowage/clients/dump"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// read reads the objects of the cluster. Kinds that may not be read are forbidden.
func (c *cluster) read(ctx context.Context, r *manifest.Reader) (forbidden []error, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.Context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && c.Kubeconfig == "":
		return nil, errors.New("there is no kubeconfig to read a cluster with, and no manifest: name one with --kubeconfig or --file")
	case err != nil:
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	r.Namespace = cmp.Or(c.Namespace, namespace)
	if forbidden, err = dump.Read(ctx, config, r.Add); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", config.Host, err)
	}
	return forbidden, nil
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
