{{/* The secret of a component's server certificate: (list $ "server"). */}}
{{- define "stowage.serverSecret" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
{{- if $values.tls.secretName -}}
{{- $values.tls.secretName -}}
{{- else if (index . 0).Values.tls.certManager.enabled -}}
{{- printf "%s-tls" (include "stowage.component" .) -}}
{{- else -}}
{{- fail (printf "%s.tls.secretName: is needed, or tls.certManager.enabled" (index . 1)) -}}
{{- end -}}
{{- end -}}

{{/* The secret with which a component is a client of the server: (list $ "batch"). */}}
{{- define "stowage.clientSecret" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
{{- if $values.tls.clientSecretName -}}
{{- $values.tls.clientSecretName -}}
{{- else if (index . 0).Values.tls.certManager.enabled -}}
{{- printf "%s-client-tls" (include "stowage.component" .) -}}
{{- else -}}
{{- fail (printf "%s.tls.clientSecretName: is needed, or tls.certManager.enabled" (index . 1)) -}}
{{- end -}}
{{- end -}}

{{/* Arguments of a client of the server. It presents a certificate only where the server asks for one. */}}
{{- define "stowage.clientArgs" -}}
- --stowage-address={{ include "stowage.address" . }}
{{- if .Values.tls.enabled }}
- --stowage-ca-file=/etc/stowage-client/ca.crt
{{- if .Values.tls.requireClientCertificates }}
- --stowage-cert-file=/etc/stowage-client/tls.crt
- --stowage-key-file=/etc/stowage-client/tls.key
{{- end }}
{{- end }}
{{- end -}}

{{/* Where a client of the server has its secret mounted, and the volume: nothing without TLS. */}}
{{- define "stowage.clientMount" -}}
{{- if .Values.tls.enabled }}
- name: stowage-client
  mountPath: /etc/stowage-client
  readOnly: true
{{- end }}
{{- end -}}

{{- define "stowage.clientVolume" -}}
{{- if (index . 0).Values.tls.enabled }}
- name: stowage-client
  secret:
    secretName: {{ include "stowage.clientSecret" . }}
{{- end }}
{{- end -}}

{{/* What cert-manager has to know of every certificate of a component: (list $ "batch"). */}}
{{- define "stowage.certificateFields" -}}
{{- $manager := (index . 0).Values.tls.certManager -}}
duration: {{ $manager.duration }}
renewBefore: {{ $manager.renewBefore }}
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
issuerRef:
  group: {{ $manager.issuerRef.group }}
  kind: {{ $manager.issuerRef.kind }}
  name: {{ required "tls.certManager.issuerRef.name: is needed" $manager.issuerRef.name }}
{{- end -}}

{{/* A component's server certificate: (list $ "server" service), where service is the name of its Service. */}}
{{- define "stowage.serverCertificate" -}}
{{- $root := index . 0 -}}
{{- if and $root.Values.tls.certManager.enabled (not (index $root.Values (index . 1)).tls.secretName) -}}
{{- $service := index . 2 -}}
{{- $namespace := $root.Release.Namespace -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ include "stowage.component" . }}
  namespace: {{ $namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
spec:
  secretName: {{ include "stowage.serverSecret" . }}
  dnsNames:
    - {{ $service }}.{{ $namespace }}.svc
    - {{ $service }}.{{ $namespace }}
    - {{ $service }}
    {{- range $root.Values.tls.certManager.dnsNames }}
    - {{ . | quote }}
    {{- end }}
  usages: [digital signature, server auth]
  {{- include "stowage.certificateFields" . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The certificate with which a component is a client: (list $ "batch"). The server shares its processors by subjects. */}}
{{- define "stowage.clientCertificate" -}}
{{- $root := index . 0 -}}
{{- $needed := and $root.Values.tls.enabled $root.Values.tls.certManager.enabled -}}
{{- if and $needed (not (index $root.Values (index . 1)).tls.clientSecretName) -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ include "stowage.component" . }}-client
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
spec:
  secretName: {{ include "stowage.clientSecret" . }}
  commonName: {{ include "stowage.component" . }}
  usages: [digital signature, client auth]
  {{- include "stowage.certificateFields" . | nindent 2 }}
{{- end -}}
{{- end -}}
