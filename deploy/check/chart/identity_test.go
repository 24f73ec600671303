package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
	"github.com/stowage-scheduler/stowage/server/identity"
)

// posture is who may reach the server of a release, and what it asks of callers.
type posture struct {
	TLS, Identity, Reviews, Token bool
	Everywhere                    []string // what peers of any place may connect to
	OpenTo                        []string // callers of rules that end with * before their namespace is known
	Impersonable                  []string // callers that are named by certificate, where the authority is not the chart's own
	Certificates                  int
}

func postureOf(t *testing.T, values string) posture {
	t.Helper()
	r := &release{t: t, containers: map[string]corev1.Container{}}
	r.objects = objects(t, "stowage", "stowage", parsed(t, values))
	for _, p := range deploytest.Problems(r.objects, "Secret/a") {
		t.Errorf("%s: %s", values, p)
	}
	for _, d := range of[*appsv1.Deployment](r) {
		for _, c := range d.Spec.Template.Spec.Containers {
			r.containers[c.Name] = c
		}
	}
	c, server := r.config()
	p := posture{
		TLS: c.TLSCertFile != "" && c.TLSKeyFile != "", Identity: c.AccessFile != "", Reviews: c.TokenReviewURL != "",
		Token: *server.Spec.Template.Spec.AutomountServiceAccountToken, Certificates: len(of[*deploytest.Certificate](r)),
	}
	for _, b := range of[*rbacv1.ClusterRoleBinding](r) {
		if reviews := b.RoleRef.Name == "system:auth-delegator" && b.Name == "stowage-server-token-review"; reviews && !p.Reviews {
			t.Errorf("%s: the server may review tokens and does not", values)
		}
	}
	for _, n := range of[*networkingv1.NetworkPolicy](r) {
		for _, rule := range n.Spec.Ingress {
			open := len(rule.From) == 0 || slices.ContainsFunc(rule.From, everywhere)
			for _, port := range rule.Ports {
				if open {
					p.Everywhere = append(p.Everywhere, n.Name+" "+port.Port.String())
				}
			}
		}
	}
	own := slices.ContainsFunc(of[*deploytest.Certificate](r), func(c *deploytest.Certificate) bool {
		return c.Name == "stowage-server" && c.Spec.IssuerRef.Name == "stowage-ca"
	})
	for _, m := range of[*corev1.ConfigMap](r) {
		text, ok := m.Data["access.yaml"]
		if !ok {
			continue
		}
		if _, err := identity.ParseRules([]byte(text)); err != nil {
			t.Errorf("%s: %v", values, err)
		}
		for _, rule := range parsed(t, text)["rules"].([]any) {
			for _, caller := range rule.(map[string]any)["callers"].([]any) {
				name := caller.(string)
				if strings.HasSuffix(name, "*") && name != "user:system:serviceaccount:stowage:*" {
					p.OpenTo = append(p.OpenTo, name)
				}
				if strings.HasPrefix(name, "subject:") && !own {
					p.Impersonable = append(p.Impersonable, name)
				}
			}
		}
	}
	return p
}

// everywhere reports whether a peer is the pods of all namespaces, or any address.
func everywhere(p networkingv1.NetworkPolicyPeer) bool {
	switch {
	case p.IPBlock != nil:
		return strings.HasSuffix(p.IPBlock.CIDR, "/0")
	case p.NamespaceSelector != nil:
		return len(p.NamespaceSelector.MatchLabels) == 0 && len(p.NamespaceSelector.MatchExpressions) == 0
	default:
		return false
	}
}

// TestIdentityIsTheDefault expects the defaults to ask every caller who it is, over TLS, and to let no other namespace connect until
// it has a label; and one value to turn all of it off. With an authority that others use, callers can be impersonated, which has to be
// chosen.
func TestIdentityIsTheDefault(t *testing.T) {
	closed := posture{TLS: true, Identity: true, Reviews: true, Token: true}
	open := posture{Everywhere: []string{"stowage-server grpc"}}
	// Certificates of an authority, of the server, and of each client.
	with := func(p posture, certificates int) posture { p.Certificates = certificates; return p }
	without := closed
	without.Reviews, without.Token = false, false
	shared := without
	shared.Impersonable = []string{"subject:CN=a"}
	chosen := closed
	chosen.Impersonable = []string{"subject:CN=stowage-extender", "subject:CN=stowage-batch", "subject:CN=stowage-expander"}
	const issuer = "tls: {certManager: {issuerRef: {name: a, kind: ClusterIssuer}}}, "
	const all = "extender: {enabled: true}, batch: {enabled: true}, expander: {enabled: true}"
	for values, want := range map[string]posture{
		"{}":             with(closed, 2),
		"{" + all + "}":  with(closed, 6),
		"insecure: true": open,
		"{server: {access: {tokenReview: {enabled: false}}}}":                                          with(without, 2),
		"{tls: {clientCertificates: false}}":                                                           with(closed, 2),
		"{tls: {clientCertificates: false, certManager: {issuerRef: {name: a, kind: ClusterIssuer}}}}": with(closed, 1),
		"{" + issuer + "server: {access: {ownRules: true}}}":                                           with(chosen, 1),
		"{" + issuer + withRule("subject:CN=a") + "}":                                                  with(shared, 1),
		"{server: {tls: {secretName: a}, access: {ownRules: true}}}":                                   with(chosen, 0),
		// Cluster Autoscaler speaks TLS only.
		"{insecure: true, " + all + "}": with(open, 2),
	} {
		got := postureOf(t, values)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", values, diff)
		}
	}
}

// Peers that are listed count, whatever insecure is.
func TestListedClients(t *testing.T) {
	for _, insecure := range []string{"true", "false"} {
		got := postureOf(t, "{insecure: "+insecure+", networkPolicy: {clientsFrom: [{podSelector: {matchLabels: {a: b}}}]}}")
		if len(got.Everywhere) > 0 {
			t.Errorf("insecure %s: %v is open to all namespaces", insecure, got.Everywhere)
		}
	}
}

// Rules of the values precede the chart's rules, so that they decide.
func TestRulesComeFirst(t *testing.T) {
	const mine = "user:system:serviceaccount:stowage:ci"
	values := "server: {access: {rules: [{callers: ['" + mine + "'], tenant: ci, methods: [Filter]}]}}"
	for _, o := range objects(t, "stowage", "stowage", parsed(t, values)) {
		if m, ok := o.(*corev1.ConfigMap); ok {
			rules := parsed(t, m.Data["access.yaml"])["rules"].([]any)
			if first := rules[0].(map[string]any)["callers"].([]any)[0]; len(rules) != 3 || first != mine {
				t.Errorf("%d rules, the first is for %v", len(rules), first)
			}
			return
		}
	}
	t.Error("there is no access file")
}
