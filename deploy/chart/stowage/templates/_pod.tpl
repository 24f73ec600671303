{{/* The reference of an image: (list $ image), by digest where it has one. */}}
{{- define "stowage.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.repository -}}
{{- with default $root.Values.image.registry $image.registry -}}
{{- $name = printf "%s/%s" (trimSuffix "/" .) $name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (coalesce $image.tag $root.Values.image.tag $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Fields of a pod's spec that users set: (list $ "batch"). */}}
{{- define "stowage.podFields" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Topology spread constraints: (list $ "batch" topologyKeys), a preference by each key unless users have others. */}}
{{- define "stowage.spread" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
{{- $selector := include "stowage.selectorLabels" . -}}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range $values.topologySpreadConstraints }}
  - {{- toYaml . | nindent 4 }}
    {{- if not (hasKey . "labelSelector") }}
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
    {{- end }}
  {{- end }}
{{- else }}
topologySpreadConstraints:
  {{- range index . 2 }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end -}}

{{/* The security context of a container, as the restricted profile of the pod security standards asks. */}}
{{- define "stowage.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Probes of the admin port; readiness by its period, threshold and timeout: (list periodSeconds failureThreshold timeoutSeconds). */}}
{{- define "stowage.probes" -}}
readinessProbe:
  httpGet:
    path: /readyz
    port: admin
  periodSeconds: {{ index . 0 }}
  {{- with index . 1 }}
  failureThreshold: {{ . }}
  {{- end }}
  {{- if gt (len .) 2 }}
  timeoutSeconds: {{ index . 2 }}
  {{- end }}
livenessProbe:
  httpGet:
    path: /healthz
    port: admin
  periodSeconds: 10
  timeoutSeconds: 5
{{- end -}}

{{/* A PodDisruptionBudget: (list $ "batch"). */}}
{{- define "stowage.podDisruptionBudget" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
{{- if $values.podDisruptionBudget.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "stowage.component" . }}
  namespace: {{ (index . 0).Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ $values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "stowage.selectorLabels" . | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* A service account: (list $ "batch" automount), where automount is empty for Kubernetes' default. */}}
{{- define "stowage.serviceAccount" -}}
{{- $account := (index (index . 0).Values (index . 1)).serviceAccount -}}
{{- if $account.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "stowage.serviceAccountName" . }}
  namespace: {{ (index . 0).Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
  {{- with $account.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with index . 2 }}
automountServiceAccountToken: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* A NetworkPolicy's metadata and selector: (list $ "batch"). */}}
{{- define "stowage.networkPolicyHead" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "stowage.component" . }}
  namespace: {{ (index . 0).Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "stowage.selectorLabels" . | nindent 6 }}
{{- end -}}

{{/* A PodMonitor of a component without a Service of its admin port: (list $ "batch"). */}}
{{- define "stowage.podMonitor" -}}
{{- $root := index . 0 -}}
{{- if $root.Values.monitoring.serviceMonitor.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "stowage.component" . }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
    {{- with $root.Values.monitoring.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "stowage.selectorLabels" . | nindent 6 }}
  podMetricsEndpoints:
    - port: admin
      path: /metrics
      {{- with $root.Values.monitoring.serviceMonitor.interval }}
      interval: {{ . }}
      {{- end }}
{{- end -}}
{{- end -}}
