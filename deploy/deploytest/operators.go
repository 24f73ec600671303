package deploytest

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The types of the Prometheus operator and of cert-manager, reduced to the fields of the manifests.
type (
	// ServiceMonitor is one of monitoring.coreos.com/v1.
	ServiceMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []Endpoint           `json:"endpoints"`
		} `json:"spec"`
	}
	// PodMonitor is one of monitoring.coreos.com/v1.
	PodMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector            metav1.LabelSelector `json:"selector"`
			PodMetricsEndpoints []Endpoint           `json:"podMetricsEndpoints"`
		} `json:"spec"`
	}
	// Endpoint is a scraped endpoint.
	Endpoint struct {
		Port     string `json:"port"`
		Path     string `json:"path"`
		Interval string `json:"interval,omitempty"`
	}
	// PrometheusRule is one of monitoring.coreos.com/v1. Its spec is a rule file of Prometheus.
	PrometheusRule struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              json.RawMessage `json:"spec"`
	}
	// Certificate is one of cert-manager.io/v1.
	Certificate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			IsCA        bool            `json:"isCA,omitempty"`
			SecretName  string          `json:"secretName"`
			CommonName  string          `json:"commonName,omitempty"`
			DNSNames    []string        `json:"dnsNames,omitempty"`
			Usages      []string        `json:"usages"`
			Duration    metav1.Duration `json:"duration"`
			RenewBefore metav1.Duration `json:"renewBefore"`
			PrivateKey  struct {
				Algorithm      string `json:"algorithm"`
				Size           int    `json:"size"`
				RotationPolicy string `json:"rotationPolicy"`
			} `json:"privateKey"`
			IssuerRef struct {
				Group string `json:"group"`
				Kind  string `json:"kind"`
				Name  string `json:"name"`
			} `json:"issuerRef"`
		} `json:"spec"`
	}
	// Issuer is one of cert-manager.io/v1.
	Issuer struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SelfSigned *struct{} `json:"selfSigned,omitempty"`
			CA         *struct {
				SecretName string `json:"secretName"`
			} `json:"ca,omitempty"`
		} `json:"spec"`
	}
)

func addOperators(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"},
		&ServiceMonitor{}, &PodMonitor{}, &PrometheusRule{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}, &Certificate{}, &Issuer{})
	return nil
}

// DeepCopyObject implements runtime.Object. Nothing changes the copies.
func (m *ServiceMonitor) DeepCopyObject() runtime.Object { c := *m; return &c }

// DeepCopyObject implements runtime.Object. Nothing changes the copies.
func (m *PodMonitor) DeepCopyObject() runtime.Object { c := *m; return &c }

// DeepCopyObject implements runtime.Object. Nothing changes the copies.
func (r *PrometheusRule) DeepCopyObject() runtime.Object { c := *r; return &c }

// DeepCopyObject implements runtime.Object. Nothing changes the copies.
func (c *Certificate) DeepCopyObject() runtime.Object { out := *c; return &out }

// DeepCopyObject implements runtime.Object. Nothing changes the copies.
func (i *Issuer) DeepCopyObject() runtime.Object { c := *i; return &c }
