{{/* "true" if the API server reviews tokens. */}}
{{- define "stowage.reviews" -}}
{{- if and (not .Values.insecure) .Values.server.access.tokenReview.enabled -}}true{{- end -}}
{{- end -}}

{{/* The rules of the access file: those of the values, then those of the chart. */}}
{{- define "stowage.rules" -}}
{{- with .Values.server.access.rules }}
{{- toYaml . }}
{{- end }}
{{- if .Values.server.access.ownRules }}
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
{{- if .Values.server.tls.secretName }}
{{- fail "server.tls.secretName: must be empty with insecure, which turns TLS off" }}
{{- end }}
{{- range list "extender" "batch" "expander" }}
{{- if (index $.Values .).tls.clientSecretName }}
{{- fail (printf "%s.tls.clientSecretName: must be empty with insecure, which turns TLS off" .) }}
{{- end }}
{{- end }}
{{- if and .Values.tls.certManager.issuerRef.name (not .Values.expander.enabled) }}
{{- fail "tls.certManager.issuerRef.name: must be empty with insecure, which turns TLS off" }}
{{- end }}
{{- else if not (trim (include "stowage.rules" .)) }}
{{- fail "server.access.rules: is needed, as no rule of the chart applies" }}
{{- end }}
{{- end -}}
