package process

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Kubernetes has the flags of the API server's clients.
type Kubernetes struct {
	Kubeconfig   string  `help:"Kubeconfig file. Default: the service account of the pod."`
	KubeAPIQPS   float32 `name:"kube-api-qps" default:"500" help:"Requests per second to the API server, of each kind: bindings, status, events, and others. The API server has limits of its own."`
	KubeAPIBurst int     `name:"kube-api-burst" default:"1000" help:"Burst of requests beyond kube-api-qps."`
}

// Client returns a client with a user agent of the given name and a configuration that change may modify. Each client has its own
// KubeAPIQPS and KubeAPIBurst, so that clients do not wait for each other.
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
	// Protobuf takes a quarter of JSON's bytes and time.
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	for _, c := range change {
		c(config)
	}
	api, err := newClientset(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return api, nil
}
