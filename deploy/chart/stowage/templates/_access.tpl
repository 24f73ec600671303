{{/* "true" if the API server reviews tokens. */}}
{{- define "stowage.reviews" -}}
{{- if and (not .Values.insecure) .Values.server.access.tokenReview.enabled -}}true{{- end -}}
{{- end -}}

{{/* "true" if the rules of the chart apply. Callers choose the names in their certificates where others can use the authority, too. */}}
{{- define "stowage.ownRules" -}}
{{- $given := get .Values.server.access "ownRules" -}}
{{- $shared := or .Values.server.tls.secretName .Values.tls.certManager.issuerRef.name -}}
{{- if kindIs "bool" $given -}}
{{- if $given -}}true{{- end -}}
{{- else if and $shared .Values.tls.clientCertificates -}}
{{- fail (printf "server.access.ownRules: must be true or false, as the authority of client certificates is not the chart's own. With true, everyone who can get a certificate of it with the common name %s, %s or %s may make every call; with false, server.access.rules alone admit callers" (include "stowage.component" (list . "extender")) (include "stowage.component" (list . "batch")) (include "stowage.component" (list . "expander"))) -}}
{{- else -}}
true
{{- end -}}
{{- end -}}

{{/* The rules of the access file: first the rules in the values, then the chart's. */}}
{{- define "stowage.rules" -}}
{{- with .Values.server.access.rules }}
{{- toYaml . }}
{{- end }}
{{- if include "stowage.ownRules" . }}
{{- if .Values.tls.clientCertificates }}
- callers:
    {{- range list "extender" "batch" "expander" }}
    - "subject:CN={{ include "stowage.component" (list $ .) }}"
    {{- end }}
  tenant: scheduling
  methods: ["*"]
{{- end }}
{{- if .Values.server.access.tokenReview.enabled }}
- callers: ["user:system:serviceaccount:{{ .Release.Namespace }}:*"]
  tenant: {{ .Release.Namespace | quote }}
  methods: ["*"]
{{- end }}
{{- end }}
{{- end -}}

{{/* Fails for values that would not count, and for an access file that admits nobody. */}}
{{- define "stowage.checkAccess" -}}
{{- if .Values.insecure }}
{{- range list "rules" "tokens" "issuers" "quotas" }}
{{- if index $.Values.server.access . }}
{{- fail (printf "server.access.%s: must be empty with insecure, which turns identity off" .) }}
{{- end }}
{{- end }}
{{- if kindIs "bool" (get .Values.server.access "ownRules") }}
{{- fail "server.access.ownRules: must be empty with insecure, which turns identity off" }}
{{- end }}
{{- if not .Values.server.access.tokenReview.enabled }}
{{- fail "server.access.tokenReview.enabled: must be the default with insecure, which turns identity off" }}
{{- end }}
{{- if ne (join "," .Values.server.access.tokenReview.audiences) "stowage" }}
{{- fail "server.access.tokenReview.audiences: must be the default with insecure, which turns identity off" }}
{{- end }}
{{- if not .Values.tls.clientCertificates }}
{{- fail "tls.clientCertificates: must be the default with insecure, which turns TLS off" }}
{{- end }}
{{- if .Values.server.tls.secretName }}
{{- fail "server.tls.secretName: must be empty with insecure, which turns TLS off" }}
{{- end }}
{{- range list "extender" "batch" "expander" }}
{{- if (index $.Values .).tls.clientSecretName }}
{{- fail (printf "%s.tls.clientSecretName: must be empty with insecure, which turns TLS off" .) }}
{{- end }}
{{- end }}
{{- /* The expander's certificate remains. */}}
{{- if not (and .Values.expander.enabled (not .Values.expander.tls.secretName)) }}
{{- with .Values.tls.certManager }}
{{- if .issuerRef.name }}
{{- fail "tls.certManager.issuerRef.name: must be empty with insecure, which turns TLS off" }}
{{- end }}
{{- if .dnsNames }}
{{- fail "tls.certManager.dnsNames: must be empty with insecure, which turns TLS off" }}
{{- end }}
{{- if or (ne .duration "2160h") (ne .renewBefore "720h") }}
{{- fail "tls.certManager: duration and renewBefore must be the defaults with insecure, which turns TLS off" }}
{{- end }}
{{- end }}
{{- end }}
{{- else }}
{{- $rules := include "stowage.rules" . | trim }}
{{- if not $rules }}
{{- fail "server.access.rules: is needed, as no rule of the chart applies" }}
{{- end }}
{{- $access := .Values.server.access }}
{{- $can := dict "subject" .Values.tls.clientCertificates "uri" .Values.tls.clientCertificates "token" $access.tokens "user" $access.tokenReview.enabled "group" $access.tokenReview.enabled "oidc-user" $access.issuers "oidc-group" $access.issuers }}
{{- $admits := regexMatch "--(access-file|tls-client-ca-file|token-review-url)[= ]" (join " " .Values.server.extraArgs) }}
{{- range $rules | fromYamlArray }}
{{- range .callers }}
{{- if get $can (splitList ":" . | first) }}
{{- $admits = true }}
{{- end }}
{{- end }}
{{- end }}
{{- if not $admits }}
{{- fail "server.access.rules: admit nobody: subject: and uri: need tls.clientCertificates, token: needs server.access.tokens, user: and group: need server.access.tokenReview.enabled, oidc-user: and oidc-group: need server.access.issuers" }}
{{- end }}
{{- end }}
{{- with .Values.tls.certManager.issuerRef }}
{{- if and (not .name) (or (ne .kind "Issuer") (ne .group "cert-manager.io")) }}
{{- fail "tls.certManager.issuerRef: kind and group need name" }}
{{- end }}
{{- end }}
{{- end -}}
