package chart

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/google/go-cmp/cmp"
)

// TestLint is `helm lint --strict` with each file of values.
func TestLint(t *testing.T) {
	for name, values := range valuesFiles(t) {
		for _, m := range lint.RunAll(chartDir, values, "stowage").Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// TestPackage packs the chart, whose links to files of other directories become files, and renders the same from the archive.
func TestPackage(t *testing.T) {
	c := load(t)
	archive, err := chartutil.Save(c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := loader.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packed.Files {
		if strings.HasPrefix(f.Name, "ci/") {
			t.Errorf("the package has %s", f.Name)
		}
	}
	for name, values := range valuesFiles(t) {
		want, err := templates(c, "stowage", "stowage", values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := templates(packed, "stowage", "stowage", values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -directory +package:\n%s", name, diff)
		}
	}
}

// The chart's version and its images match the built ones.
func TestVersionIsTheImages(t *testing.T) {
	c, tag := load(t), strings.TrimSpace(string(read(t, "../../image/tag")))
	if c.Metadata.AppVersion != tag || "v"+c.Metadata.Version != tag {
		t.Errorf("version %s, appVersion %s; the images have %s", c.Metadata.Version, c.Metadata.AppVersion, tag)
	}
}

// TestRefused expects an error for values that would otherwise be ignored, or start something that cannot work.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"servers: {}":          "additional properties 'servers' not allowed",
		"server: {replica: 3}": "additional properties 'replica' not allowed",
		"server: {config: {max-inflight-bytes: 1}}":                 "'max-inflight-bytes' not allowed",
		"server: {config: {listen-address: ':1'}}":                  "'listen-address' not allowed",
		"server: {config: {drain-delay: 5}}":                        "want string",
		"server: {replicas: two}":                                   "want integer",
		"server: {image: {digest: latest}}":                         "does not match pattern",
		"server: {extraArgs: [pprof]}":                              "does not match pattern",
		"server: {serviceAccount: {create: false}}":                 "server.serviceAccount.name: is needed",
		"server: {autoscaling: {enabled: true, cpuUtilization: 0}}": "needs cpuUtilization or queuedRequests",
		"extender: {scores: exactly}":                               "must be one of",
		"batch: {tls: {secretName: a}}":                             "'secretName' not allowed",
		"expander: {prices: [{nodeGroup: a}]}":                      "missing property 'price'",
		"tls: {enabled: false}":                                     "'enabled' not allowed",
		"insecure: 'yes'":                                           "want boolean",
		"networkPolicy: {metricsFrom: []}":                          "minItems",
		"{server: {tls: {secretName: a}, access: {ownRules: true}}, batch: {enabled: true}}": "batch.tls.clientSecretName: is needed",
		"{tls: {clientCertificates: false}, batch: {enabled: true}}":                         "batch.extraArgs: needs --stowage-token-file",
		"server: {access: {ownRules: false}}":                                                "server.access.rules: is needed",
		"{insecure: true, server: {access: {quotas: [{tenant: a}]}}}":                        "server.access.quotas: must be empty with insecure",
		"{insecure: true, server: {tls: {secretName: a}}}":                                   "server.tls.secretName: must be empty with insecure",
		"{insecure: true, batch: {tls: {clientSecretName: a}}}":                              "batch.tls.clientSecretName: must be empty with insecure",
		"{insecure: true, tls: {certManager: {issuerRef: {name: a}}}}":                       "tls.certManager.issuerRef.name: must be empty with insecure",
		"fullnameOverride: Stowage":                                                          "does not match pattern",

		"{tls: {certManager: {issuerRef: {name: a}}}}":                                                           "server.access.ownRules: must be true or false",
		"{server: {tls: {secretName: a}}}":                                                                       "common name stowage-extender, stowage-batch or stowage-expander",
		"{server: {access: {ownRules: maybe}}}":                                                                  "must be one of",
		"{insecure: true, tls: {clientCertificates: false}}":                                                     "tls.clientCertificates: must be the default with insecure",
		"{insecure: true, tls: {certManager: {dnsNames: [a]}}}":                                                  "tls.certManager.dnsNames: must be empty with insecure",
		"{insecure: true, tls: {certManager: {duration: 1h}}}":                                                   "duration and renewBefore must be the defaults",
		"{tls: {certManager: {issuerRef: {kind: ClusterIssuer}}}}":                                               "tls.certManager.issuerRef: kind and group need name",
		"{insecure: true, server: {access: {ownRules: false}}}":                                                  "server.access.ownRules: must be empty with insecure",
		"{insecure: true, server: {access: {ownRules: true}}}":                                                   "server.access.ownRules: must be empty with insecure",
		"{insecure: true, tls: {certManager: {issuerRef: {kind: ClusterIssuer}}}}":                               "kind and group need name",
		"{insecure: true, server: {access: {tokenReview: {audiences: [a]}}}}":                                    "tokenReview.audiences: must be the default",
		"{insecure: true, server: {access: {tokenReview: {audiences: []}}}}":                                     "tokenReview.audiences: must be the default",
		"{insecure: true, server: {access: {tokenReview: {enabled: false}}}}":                                    "tokenReview.enabled: must be the default",
		"{insecure: true, expander: {enabled: true, tls: {secretName: a}}, tls: {certManager: {dnsNames: [a]}}}": "dnsNames: must be empty with insecure",
		"{tls: {clientCertificates: false}, server: {access: {tokenReview: {enabled: false}}}}":                  "server.access.rules: is needed",
		"{tls: {clientCertificates: false}, " + withRule("subject:CN=a") + "}":                                   "server.access.rules: admit nobody",
		"{tls: {clientCertificates: false}, " + withRule("uri:spiffe://a/*") + "}":                               "server.access.rules: admit nobody",
		"{" + withRule("token:a") + "}":                                                                          "server.access.rules: admit nobody",
		"{" + withRule("user:a', 'group:a") + "}":                                                                "server.access.rules: admit nobody",
		"{" + withRule("oidc-user:a:b") + "}":                                                                    "server.access.rules: admit nobody",
	} {
		_, err := templates(load(t), "stowage", "stowage", parsed(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", text, err, want)
		}
	}
}

// withRule are values whose only rule is for a caller, with no token reviews.
func withRule(caller string) string {
	return "server: {access: {ownRules: false, tokenReview: {enabled: false}, rules: [{callers: ['" + caller + "'], tenant: a, methods: ['*']}]}}"
}

// TestAccepted expects no error for values that resemble TestRefused's.
func TestAccepted(t *testing.T) {
	for _, text := range []string{
		"{" + withRule("subject:CN=a") + "}",
		"{" + withRule("subject:CN=a', 'token:a") + "}",
		"{tls: {clientCertificates: false, certManager: {issuerRef: {name: a}}}}", // no certificate identifies a caller
		"{server: {tls: {secretName: a}, access: {ownRules: true}}}",
		"{server: {access: {ownRules: null}}}",
		"{insecure: true, server: {access: {ownRules: ''}}}",
		"{insecure: true, expander: {enabled: true}, tls: {certManager: {dnsNames: [a], duration: 1h, issuerRef: {name: a, kind: ClusterIssuer}}}}",
		"{server: {extraArgs: ['--token-review-url=https://other.example'], " + strings.TrimPrefix(withRule("user:a"), "server: {") + "}",
	} {
		if _, err := templates(load(t), "stowage", "stowage", parsed(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNotes expects that the notes name what was started.
func TestNotes(t *testing.T) {
	for name, want := range map[string][]string{
		"defaults": {"dns:///stowage.stowage.svc:7433", "a client certificate or a token", "deployment/stowage-server",
			"create token default --audience=stowage", "label stowage-client=true", "--set insecure=true"},
		"minimal":    {"in plain text", "--server 127.0.0.1:7433\n", "can make every call."},
		"mtls":       {"a token that server.access names", "kube-scheduler-stowage", "schedulerName: stowage"},
		"everything": {"dns:///placement.stowage.svc:7433", "placement-expander.stowage.svc:7438", "secret placement-expander"},
	} {
		files, err := templates(load(t), "stowage", "stowage", valuesFiles(t)[name])
		if err != nil {
			t.Fatal(err)
		}
		notes := files["stowage/templates/NOTES.txt"]
		for _, w := range want {
			if !strings.Contains(notes, w) {
				t.Errorf("%s: the notes do not have %q:\n%s", name, w, notes)
			}
		}
	}
}
