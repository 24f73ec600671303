package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stowage-scheduler/stowage/clients/dump"
	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// cluster has the flags that name a live cluster, and the flags that choose its pending pods.
type cluster struct {
	Cluster    bool   `help:"Read the live cluster and apply the manifests of --file to it. Implied by --kubeconfig and --context."`
	Kubeconfig string `placeholder:"FILE" help:"The kubeconfig. Default: $$KUBECONFIG, then ~/.kube/config, then the service account of the pod."`
	Context    string `placeholder:"NAME" values:"context" help:"The context of the kubeconfig. Default: its current context."`
	Namespace  string `short:"n" placeholder:"NAME" values:"namespace" help:"Place only pending pods and workloads in this namespace, which is also the default for manifests without one. Other pods still occupy their nodes."`
	Selector   string `short:"l" placeholder:"LABELS" help:"Place only pending pods with these labels, such as app=web,tier!=test. Other pods still occupy their nodes."`
}

// live reports whether a live cluster is read.
func (q *question) live() bool {
	return q.Cluster || q.Kubeconfig != "" || q.Context != "" || len(q.File)+len(q.Kustomize) == 0
}

// source returns the flags with which another command reads the same cluster and the same profile.
func (q *question) source() []string {
	var out []string
	value := func(flag string, values ...string) {
		for _, v := range values {
			switch {
			case v == "":
			case strings.HasPrefix(flag, "--"):
				out = append(out, flag+"="+v)
			case strings.HasPrefix(v, "-"): // would be taken for a flag
				out = append(out, flag+v)
			default:
				out = append(out, flag, v)
			}
		}
	}
	is := func(flag string, set bool) {
		if set {
			out = append(out, flag)
		}
	}
	value("-f", q.File...)
	value("-k", q.Kustomize...)
	is("-R", q.Recursive)
	is("--cluster", q.Cluster)
	value("--kubeconfig", q.Kubeconfig)
	value("--context", q.Context)
	value("--namespace", q.Namespace)
	value("--scheduler-name", q.SchedulerName)
	value("--profile", q.Profile)
	return out
}

// readCluster reads the objects of the cluster.
func (q *question) readCluster(s *session, r *manifest.Reader) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = q.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: q.Context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && q.Kubeconfig == "":
		return errors.New("there is no kubeconfig to read a cluster with, and no manifest: name one with --kubeconfig or --file")
	case err != nil:
		return fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	r.Namespace = cmp.Or(q.Namespace, namespace)
	if q.forbidden, err = dump.Read(s.ctx, config, r.Add); err != nil {
		return fmt.Errorf("cluster %s: %w", config.Host, err)
	}
	if n := len(q.forbidden); n > 0 {
		more := ""
		if n > 1 {
			more = ", nor may " + strings.Join(resources(q.forbidden[1:]), ", ")
		}
		q.note(s, "not read: %v%s: ClusterRole %s has the access that is needed", q.forbidden[0], more, dump.Role)
	}
	return nil
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
