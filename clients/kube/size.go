//go:build !js

package kube

import corev1 "k8s.io/api/core/v1"

// podSize and templateSize are the bytes of objects in Protocol Buffers, which are near what they take in memory.
func podSize(p *corev1.Pod) int { return p.Size() }

func templateSize(t *corev1.PodTemplateSpec) int { return t.Size() }
