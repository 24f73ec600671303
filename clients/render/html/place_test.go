package html_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Of the large cluster: pods that one ReplicaSet has pending.
const pending = 1250

// large is a cluster of 500 nodes with 15,000 pods, each with its name, and pending pods, each an entry of its own.
func large(t *testing.T) *kube.Snapshot {
	c, err := compact.Cluster(bigcluster.StatedInFull(bigcluster.New(500)), compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := uint32(len(c.PodTemplates))
	template := bigcluster.Template(0)
	template.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9"}
	template.Spec.TopologySpreadConstraints = nil
	template.Spec.Containers[0].Requests.CpuMillis = new(int64(12_000))
	c.PodTemplates = append(c.PodTemplates, template)
	out := &kube.Snapshot{Cluster: c}
	for i := range pending {
		name := fmt.Sprintf("web-7d4b9-%05d", i)
		out.Queue = append(out.Queue, kube.Entry{
			Origin: kube.Origin{Kind: "Pod", Namespace: template.Namespace, Name: name},
			Pods:   &stowagev1.PendingPods{Pod: &stowagev1.Pod{Name: name, Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: index}}},
		})
	}
	return out
}

func placed(t *testing.T, s *kube.Snapshot) *place.Answer {
	client, stop, err := embedded.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	request := s.PlaceRequest()
	request.Explain = true
	response, err := client.Place(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	a := place.New(s, "topology.kubernetes.io/zone", response)
	if err := a.Document(); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReportsOfALargeClusterAreReadable holds that equal pods are one row, and that pages and texts stay small.
func TestReportsOfALargeClusterAreReadable(t *testing.T) {
	d := placed(t, large(t))
	if r := d.Response; r.PlacedCount == 0 || r.UnplacedCount == 0 {
		t.Fatalf("%d placed, %d not: some should be", r.PlacedCount, r.UnplacedCount)
	}
	if len(d.Pods) != pending || len(d.Workloads) != 1 || d.Workloads[0].Pods != pending || d.Workloads[0].Kind != "ReplicaSet" {
		t.Errorf("%d pods in %d workloads", len(d.Pods), len(d.Workloads))
	}
	var lines, page, svg bytes.Buffer
	text.Place(&lines, d, text.Style{Width: text.Width})
	if err := errors.Join(html.Place(d).HTML(&page), html.Place(d).SVG(&svg)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(lines.String(), "\n"); n > 100 {
		t.Errorf("%d lines of text", n)
	}
	t.Logf("text %d bytes, html %d, svg %d", lines.Len(), page.Len(), svg.Len())
	if page.Len() > 2_000_000 || svg.Len() > 2_000_000 {
		t.Errorf("html has %d bytes, svg %d", page.Len(), svg.Len())
	}
	if n := strings.Count(svg.String(), `<g class="node`); n != 500 {
		t.Errorf("%d nodes are drawn", n)
	}
	for decoder := xml.NewDecoder(&svg); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatNodesHaveAfterwards holds that the requests of all nodes grow by the requests of the placed pods.
func TestWhatNodesHaveAfterwards(t *testing.T) {
	d := placed(t, large(t))
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		APIVersion, Kind string
		Nodes            []struct{ Requested, RequestedAfter corev1.ResourceList }
		PlacedCount      int64
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.APIVersion != "stowage.scheduling/v1" || read.Kind != "PlaceReport" || len(read.Nodes) != 500 {
		t.Errorf("%s %s of %d nodes", read.APIVersion, read.Kind, len(read.Nodes))
	}
	for name, each := range map[corev1.ResourceName]int64{corev1.ResourceCPU: 12_000, corev1.ResourceMemory: 256 << 20, corev1.ResourcePods: 1} {
		grown := convert.Quantity(name, 0)
		for _, n := range read.Nodes {
			grown.Add(n.RequestedAfter[name])
			grown.Sub(n.Requested[name])
		}
		if want := convert.Quantity(name, each*read.PlacedCount); read.PlacedCount == 0 || grown.Cmp(want) != 0 {
			t.Errorf("%s: grown by %s, want %s", name, grown.String(), want.String())
		}
	}
}
