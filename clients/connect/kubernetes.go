package connect

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Kubernetes says where the API server is.
type Kubernetes struct {
	Kubeconfig   string  `help:"Kubeconfig file. Without it the service account of the pod is used."`
	KubeAPIQPS   float32 `name:"kube-api-qps" default:"500" help:"Requests per second to the API server, of each kind: bindings, status, events, and others. The API server has limits of its own."`
	KubeAPIBurst int     `name:"kube-api-burst" default:"1000" help:"Requests that may come at once within kube-api-qps."`
}

// Client makes a client that names itself so, with a configuration that may be changed. KubeAPIQPS and KubeAPIBurst are each
// client's own: what one client sends does not wait for what another does.
func (k *Kubernetes) Client(name string, change ...func(*rest.Config)) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if k.Kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.AddUserAgent(config, name)
	config.QPS, config.Burst = k.KubeAPIQPS, k.KubeAPIBurst
	// A quarter of the bytes and of the time that JSON takes.
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	for _, c := range change {
		c(config)
	}
	return kubernetes.NewForConfig(config)
}
