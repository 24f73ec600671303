package controlplane

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AccountKubeconfig writes the kubeconfig of a service account, which has no more rights than it was granted, and returns its path.
func (c *ControlPlane) AccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	seconds := int64(3600)
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return c.Kubeconfig(namespace+"-"+name, token.Status.Token)
}
