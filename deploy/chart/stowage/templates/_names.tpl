{{/* The beginning of all names: the release's name, which stands for the chart's if it has it. */}}
{{- define "stowage.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 38 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 38 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of a component's objects: (list $ "batch"). */}}
{{- define "stowage.component" -}}
{{- printf "%s-%s" (include "stowage.fullname" (index . 0)) (index . 1) -}}
{{- end -}}

{{/* The name of a component's service account: (list $ "batch"). */}}
{{- define "stowage.serviceAccountName" -}}
{{- $account := (index (index . 0).Values (index . 1)).serviceAccount -}}
{{- if $account.create -}}
{{- default (include "stowage.component" .) $account.name -}}
{{- else -}}
{{- required (printf "%s.serviceAccount.name: is needed where create is false" (index . 1)) $account.name -}}
{{- end -}}
{{- end -}}

{{/* The name of the service account of the kube-scheduler beside the extender. */}}
{{- define "stowage.kubeSchedulerAccount" -}}
{{- $account := .Values.extender.kubeScheduler.serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-kube-scheduler" (include "stowage.component" (list . "extender"))) $account.name -}}
{{- else -}}
{{- required "extender.kubeScheduler.serviceAccount.name: is needed where create is false" $account.name -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a component: (list $ "batch"). */}}
{{- define "stowage.selectorLabels" -}}
app.kubernetes.io/name: stowage-{{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
{{- end -}}

{{/* The labels of a component's objects: (list $ "batch"). */}}
{{- define "stowage.labels" -}}
{{- $root := index . 0 -}}
{{ include "stowage.selectorLabels" . }}
app.kubernetes.io/part-of: stowage
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels and annotations of a component's pods: (list $ "batch" checksum). */}}
{{- define "stowage.podMetadata" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
{{- $annotations := deepCopy $values.podAnnotations -}}
{{- with index . 2 }}{{- $_ := set $annotations "checksum/config" . -}}{{- end -}}
{{- with $annotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{ end -}}
labels:
  {{- include "stowage.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/part-of: stowage
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The gRPC target of the server, for clients in the cluster. */}}
{{- define "stowage.address" -}}
{{- printf "dns:///%s.%s.svc:7433" (include "stowage.fullname" .) .Release.Namespace -}}
{{- end -}}
