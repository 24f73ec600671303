package cli

// cluster has the flags that name a live cluster, and the flags that choose its pending pods.
type cluster struct {
	Cluster    bool   `local:"" help:"Read the live cluster and apply the manifests of --file to it. Implied by --kubeconfig and --context."`
	Kubeconfig string `local:"" placeholder:"FILE" help:"The kubeconfig. Default: $$KUBECONFIG, then ~/.kube/config, then the service account of the pod."`
	Context    string `local:"" placeholder:"NAME" values:"context" help:"The context of the kubeconfig. Default: its current context."`
	Namespace  string `short:"n" placeholder:"NAME" values:"namespace" help:"Place only pending pods and workloads in this namespace, which is also the default for manifests without one. Other pods still occupy their nodes."`
	Selector   string `short:"l" placeholder:"LABELS" help:"Place only pending pods with these labels, such as app=web,tier!=test. Other pods still occupy their nodes."`
}
