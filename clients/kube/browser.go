//go:build js

package kube

import corev1 "k8s.io/api/core/v1"

// Browsers have the types of Kubernetes without Protocol Buffers, and no Options.Room.

func podSize(*corev1.Pod) int { return 0 }

func templateSize(*corev1.PodTemplateSpec) int { return 0 }
