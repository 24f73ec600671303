{{/* A binding's subject: (list $ "batch"). */}}
{{- define "stowage.subject" -}}
- kind: ServiceAccount
  name: {{ include "stowage.serviceAccountName" . }}
  namespace: {{ (index . 0).Release.Namespace }}
{{- end -}}

{{/* A cluster role binding: (list $ "batch" name role), for another account (list $ "batch" name role account). */}}
{{- define "stowage.clusterRoleBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ index . 2 }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ index . 3 }}
subjects:
  {{- include "stowage.subjectOr" (list . 4) | nindent 2 }}
{{- end -}}

{{/* The binding's subject, unless its arguments name another one after so many. */}}
{{- define "stowage.subjectOr" -}}
{{- $arguments := index . 0 -}}
{{- if gt (len $arguments) (index . 1) -}}
- kind: ServiceAccount
  name: {{ index $arguments (index . 1) }}
  namespace: {{ (index $arguments 0).Release.Namespace }}
{{- else -}}
{{- include "stowage.subject" $arguments -}}
{{- end -}}
{{- end -}}

{{/* A role for a lease, and its binding: (list $ "batch" name lease), for another account (list $ "batch" name lease account). */}}
{{- define "stowage.leaseRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ index . 2 }}
  namespace: {{ (index . 0).Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ index . 3 }}]
    verbs: [get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ index . 2 }}
  namespace: {{ (index . 0).Release.Namespace }}
  labels:
    {{- include "stowage.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ index . 2 }}
subjects:
  {{- include "stowage.subjectOr" (list . 4) | nindent 2 }}
{{- end -}}
