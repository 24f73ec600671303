package main

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// pools are the values of strings by the field's name.
var pools = map[protoreflect.Name][]string{
	"namespace":            {"", "default", "prod"},
	"namespaces":           {"default", "prod"},
	"node":                 {"n0", "n1"},
	"node_name":            {"n0", "n1", "n2"},
	"cordoned_nodes":       {"n0", "n1"},
	"removed_nodes":        {"n0", "n1"},
	"nominated_node_name":  {"n0", "n1"},
	"topology_key":         {hostname, zone, zone, "disk"},
	"keys":                 {hostname, zone},
	"match_label_keys":     {"version"},
	"mismatch_label_keys":  {"version"},
	"name_label_keys":      {hostname},
	"key":                  {"app", "disk", zone, hostname, "metadata.name"},
	"value":                {"", "a", "web"},
	"values":               {"a", "b", "web", "db", "3", "n1"},
	"image":                {"", "example.com/a:v1", "b"},
	"host_ip":              {"", "127.0.0.1", "0.0.0.0"},
	"pod_group":            {"", "", "group"},
	"scheduling_gates":     {"gate"},
	"kind":                 {"ReplicaSet", "Job"},
	"api_version":          {"apps/v1", "batch/v1"},
	"ignored_resources":    {"example.com/gpu"},
	"disrupted_pods":       {"p0", "p1"},
	"removed_namespaces":   {"default"},
	"address":              {"", "0000000000000000000000000000000000000000000000000000000000000000"},
	"feature_gates.name":   {"MatchLabelKeysInPodTopologySpread"},
	"resource_weight.name": {"cpu", "memory", "example.com/gpu"},
}

const (
	hostname = "kubernetes.io/hostname"
	zone     = "topology.kubernetes.io/zone"
)

// labels are the keys and values of maps from strings to strings.
var labels = map[string][]string{
	"app": {"web", "db"}, "disk": {"ssd", "3"}, "version": {"1", "2"}, zone: {"a", "b"}, hostname: {"n0", "n1"},
}

var (
	labelKeys   = []string{"app", "disk", "version", zone, hostname}
	quantities  = []int64{0, 1, 1, 2, 3, 100, 1000}
	allocatable = []int64{0, 3, 4, 110, 4000, 4000}
	small       = []int64{1, 1, 2, 3}
	extremes    = []uint64{
		0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64,
	}
)

// often are fields that are set nearly always, because without them a message is refused or says little.
var often = map[protoreflect.Name]bool{
	"context": true, "cluster": true, "pod": true, "pods": true, "nodes": true, "queue": true, "spec": true, "name": true, "pod_templates": true,
	"mix": true, "candidates": true, "templates": true, "scenarios": true, "containers": true, "requests": true, "allocatable": true,
	"label_selector": true, "topology_key": true, "max_skew": true, "count": true, "weight": true, "term": true, "preference": true,
	"place": true, "terms": true, "match_expressions": true, "operator": true, "key": true, "replicas": true, "labels": true, "node": true,
	"when_unsatisfiable": true, "port": true, "enabled": true, "cpu_millis": true, "memory_bytes": true, "effect": true, "plugin": true,
	"kind": true, "node_class": true, "template": true, "object": true, "field": true, "node_name": true, "shape": true, "selector": true,
	"pod_counts": true, "node_classes": true, "mode": true, "type": true,
}

// seldom are fields that refuse most requests, or that turn off much of what is to be compared.
var seldom = map[protoreflect.Name]bool{
	"unread": true, "resource_status": true, "profile": true, "delta": true, "preempted": true, "start_time": true, "readiness": true, "gone": true, "volumes": true,
	"disabled_filters": true, "disabled_post_filters": true, "disabled_pod_group_post_filters": true, "feature_gates": true, "scheduling_gates": true, "nominated_node_name": true, "added_affinity": true,
}
