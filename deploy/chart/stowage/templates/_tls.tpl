{{/* The name of the authority of the chart's own, which signs unless there is an issuer; empty where no certificate needs it. */}}
{{- define "stowage.ownAuthority" -}}
{{- $server := and (not .Values.insecure) (not .Values.server.tls.secretName) -}}
{{- $expander := and .Values.expander.enabled (not .Values.expander.tls.secretName) -}}
{{- if and (or $server $expander) (not .Values.tls.certManager.issuerRef.name) -}}
{{- printf "%s-ca" (include "stowage.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The secret of a component's server certificate: (list $ "server"). */}}
{{- define "stowage.serverSecret" -}}
{{- default (printf "%s-tls" (include "stowage.component" .)) (index (index . 0).Values (index . 1)).tls.secretName -}}
{{- end -}}

{{/* The secret with which a component is a client of the server: (list $ "batch"). */}}
{{- define "stowage.clientSecret" -}}
{{- $root := index . 0 -}}
{{- $name := (index $root.Values (index . 1)).tls.clientSecretName -}}
{{- if and $root.Values.server.tls.secretName (not (or $name $root.Values.tls.certManager.issuerRef.name)) -}}
{{- fail (printf "%s.tls.clientSecretName: is needed with server.tls.secretName, or tls.certManager.issuerRef.name" (index . 1)) -}}
{{- end -}}
{{- default (printf "%s-client-tls" (include "stowage.component" .)) $name -}}
{{- end -}}

{{/* Arguments of a client of the server: (list $ "batch"). */}}
{{- define "stowage.clientArgs" -}}
{{- $root := index . 0 -}}
- --stowage-address={{ include "stowage.address" $root }}
{{- if not $root.Values.insecure }}
- --stowage-ca-file=/etc/stowage-client/ca.crt
{{- if $root.Values.tls.clientCertificates }}
- --stowage-cert-file=/etc/stowage-client/tls.crt
- --stowage-key-file=/etc/stowage-client/tls.key
{{- else if not (regexMatch "--stowage-token-file[= ]" (join " " (index $root.Values (index . 1)).extraArgs)) }}
{{- fail (printf "%s.extraArgs: needs --stowage-token-file, as tls.clientCertificates is false" (index . 1)) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Where a client of the server has its secret mounted, and the volume: nothing where calls are in plain text. */}}
{{- define "stowage.clientMount" -}}
{{- if not .Values.insecure }}
- name: stowage-client
  mountPath: /etc/stowage-client
  readOnly: true
{{- end }}
{{- end -}}

{{- define "stowage.clientVolume" -}}
{{- if not (index . 0).Values.insecure }}
- name: stowage-client
  secret:
    secretName: {{ include "stowage.clientSecret" . }}
{{- end }}
{{- end -}}

{{/* What cert-manager has to know of every certificate of a component: (list $ "batch"). */}}
{{- define "stowage.certificateFields" -}}
{{- $manager := (index . 0).Values.tls.certManager -}}
{{- $own := include "stowage.ownAuthority" (index . 0) -}}
duration: {{ $manager.duration }}
renewBefore: {{ $manager.renewBefore }}
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
issuerRef:
  group: {{ ternary "cert-manager.io" $manager.issuerRef.group (ne $own "") }}
  kind: {{ ternary "Issuer" $manager.issuerRef.kind (ne $own "") }}
  name: {{ default $manager.issuerRef.name $own }}
{{- end -}}

{{/* A component's server certificate: (list $ "server" service), where service is the name of its Service. */}}
{{- define "stowage.serverCertificate" -}}
{{- $root := index . 0 -}}
{{- if not (index $root.Values (index . 1)).tls.secretName -}}
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
{{- if not (or $root.Values.insecure (index $root.Values (index . 1)).tls.clientSecretName) -}}
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
