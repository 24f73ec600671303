package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Kubernetes reviews tokens by TokenReviews of an API server (authentication.k8s.io/v1).
type Kubernetes struct {
	url, tokenFile string
	audiences      []string
	client         *http.Client
	reviewed       *reviewCache
}

// NewKubernetes returns a reviewer that calls the API server at a URL. caFile has its authorities; tokenFile has the token of the
// server's own service account, which may create tokenreviews (ClusterRole system:auth-delegator). With audiences, tokens must be
// for one of them.
func NewKubernetes(url, caFile, tokenFile string, audiences []string) (*Kubernetes, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate", caFile)
	}
	if _, err := os.ReadFile(tokenFile); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return &Kubernetes{
		url: strings.TrimSuffix(url, "/") + "/apis/authentication.k8s.io/v1/tokenreviews", tokenFile: tokenFile, audiences: audiences,
		client: &http.Client{Transport: transport, Timeout: reviewTimeout}, reviewed: newReviewCache(),
	}, nil
}

// Close closes idle connections.
func (k *Kubernetes) Close() { k.client.CloseIdleConnections() }

// Review implements Reviewer: user:NAME first, then group:NAME of each group.
func (k *Kubernetes) Review(ctx context.Context, token string) ([]string, error) {
	return k.reviewed.of(token, func() ([]string, time.Time, error) {
		principals, err := k.review(ctx, token)
		return principals, time.Time{}, err
	})
}

// Recall implements Reviewer.
func (k *Kubernetes) Recall(token string) []string { return k.reviewed.recall(token) }

// tokenReview is the part of a TokenReview that is sent and read.
type tokenReview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Token     string   `json:"token"`
		Audiences []string `json:"audiences,omitempty"`
	} `json:"spec"`
	Status struct {
		Authenticated bool     `json:"authenticated"`
		Audiences     []string `json:"audiences"`
		Error         string   `json:"error"`
		User          struct {
			Username string   `json:"username"`
			Groups   []string `json:"groups"`
		} `json:"user"`
	} `json:"status"`
}

func (k *Kubernetes) review(ctx context.Context, token string) ([]string, error) {
	r := tokenReview{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}
	r.Spec.Token, r.Spec.Audiences = token, k.audiences
	body, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(k.tokenFile) // the kubelet renews it
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(own)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := k.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("the API server answers a TokenReview with %s", response.Status)
	}
	r = tokenReview{}
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, fmt.Errorf("the API server's TokenReview: %w", err)
	}
	// An authenticator that does not know of audiences returns none: its token is for the API server, not for this server
	// (TokenReviewStatus.audiences).
	if !r.Status.Authenticated || r.Status.User.Username == "" || len(k.audiences) > 0 && len(r.Status.Audiences) == 0 {
		return nil, nil
	}
	principals := []string{"user:" + r.Status.User.Username}
	for _, g := range r.Status.User.Groups {
		principals = append(principals, "group:"+g)
	}
	return principals, nil
}
