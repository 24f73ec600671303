package compare_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// allocatorFile is kube-scheduler's table about the allocation of devices.
type allocatorFile struct {
	// File is in k8s.io/dynamic-resource-allocation.
	File   string         `json:"file"`
	Rows   []allocatorRow `json:"rows"`
	Listed []struct {
		Reason string   `json:"reason"`
		Rows   []string `json:"rows"`
	} `json:"listed"`
}

// allocatorRow is a situation, and what kube-scheduler's allocator returned.
type allocatorRow struct {
	Row     string                      `json:"row"`
	Node    *corev1.Node                `json:"node"`
	Slices  []*resourcev1.ResourceSlice `json:"slices"`
	Classes []*resourcev1.DeviceClass   `json:"classes"`
	Claims  []*resourcev1.ResourceClaim `json:"claims"`
	Used    []*resourcev1.ResourceClaim `json:"used"`
	// Devices are the devices of each claim, nil if there are none.
	Devices [][]string `json:"devices"`
	Error   string     `json:"error"`
}

func allocatorRows(t *testing.T) allocatorFile {
	t.Helper()
	return recorded[allocatorFile](t, "allocator.yaml")
}

// A pod with the claims of a row gets the devices that kube-scheduler's allocator returned. The API server would not store the objects of
// some rows, so that no kube-scheduler decides them.
func TestAllocatorRows(t *testing.T) {
	for _, row := range allocatorRows(t).Rows {
		t.Run(row.Row, func(t *testing.T) {
			request, err := row.request()
			if err != nil {
				t.Fatal(err)
			}
			response, err := inProcess.Place(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			placement, got := response.GetPlacements()[0], [][]string(nil)
			for _, c := range response.GetClaimDevices() {
				got = append(got, texts(c.GetDevices()))
			}
			if !slices.EqualFunc(row.Devices, got, slices.Equal) || row.Error == "" && placement.GetInternalError() {
				t.Errorf("%q, not %q: %s", got, row.Devices, placement.GetMessage())
			}
			// The table has claims without a namespace.
			if text := strings.ReplaceAll(row.Error, "claim claim-", "claim default/claim-"); !strings.Contains(placement.GetMessage(), text) {
				t.Errorf("%q, not %q", placement.GetMessage(), text)
			}
			if placed := len(row.Devices) > 0 || len(row.Claims) == 0; placed != (response.GetPlacedCount() == 1) {
				t.Errorf("%d pods are placed: %s", response.GetPlacedCount(), placement.GetMessage())
			}
		})
	}
}

// texts are devices as the rows have them.
func texts(devices []*stowagev1.DeviceAllocation) (out []string) {
	for _, d := range devices {
		text := fmt.Sprintf("%s=%s/%s/%s", d.Request, d.Driver, d.Pool, d.Device)
		if d.AdminAccess {
			text += " admin"
		}
		if d.Shared {
			text += " shared"
		}
		for _, c := range d.ConsumedCapacity {
			text += fmt.Sprintf(" %s:%s", c.Name, amount(c.Value))
		}
		out = append(out, text)
	}
	return out
}

// amount is an amount as the rows have it.
func amount(thousandths int64) *resource.Quantity {
	if whole := thousandths / 1000; thousandths%1000 == 0 && whole%1024 == 0 {
		return resource.NewQuantity(whole, resource.BinarySI)
	}
	return resource.NewMilliQuantity(thousandths, resource.DecimalSI)
}

func (r *allocatorRow) request() (*stowagev1.PlaceRequest, error) {
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler, WholeDevices: true, Selectors: cel.New()})
	pod := &corev1.Pod{}
	pod.Name, pod.UID = "pod", "pod"
	pod.Spec.Containers = []corev1.Container{{Name: "c"}}
	r.Node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("8")}
	errs := []error{b.AddNode(r.Node)}
	for i, c := range slices.Concat(r.Claims, r.Used) {
		c.Namespace, c.UID = corev1.NamespaceDefault, "claim"
		if i > 0 && c.Name == r.Claims[0].Name { // as some rows have it
			c.Name += "-more"
		}
		errs = append(errs, b.AddResourceClaim(c))
	}
	for i, c := range r.Claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: &c.Name})
	}
	for _, c := range r.Classes {
		errs = append(errs, b.AddDeviceClass(c))
	}
	seen := map[string]bool{}
	for _, s := range r.Slices {
		for seen[s.Name] { // some slices of different pools have one name
			s.Name += "-more"
		}
		seen[s.Name] = true
		errs = append(errs, b.AddResourceSlice(s))
	}
	errs = append(errs, b.AddPod(pod))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s, err := b.Build()
	if err != nil {
		return nil, err
	}
	if len(s.Misreads) > 0 {
		return nil, s.Misreads[0]
	}
	return s.PlaceRequest(), nil
}

// Every row of the table is run, or listed with the reason why it is not.
func TestEveryAllocatorRowIsRunOrListed(t *testing.T) {
	file := allocatorRows(t)
	known := map[string]bool{}
	for _, r := range file.Rows {
		known[r.Row] = true
	}
	for _, l := range file.Listed {
		for _, name := range l.Rows {
			if known[name] || l.Reason == "" {
				t.Errorf("%s: run as well as listed, or listed without a reason", name)
			}
			known[name] = true
		}
	}
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/dynamic-resource-allocation").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(filepath.Join(strings.TrimSpace(string(root)), file.File))
	for _, name := range []string{"allocator_testing.go", "lexicographical_testing.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range allocatorTable(parsed) {
			if !known[row] {
				t.Errorf("%s: neither run nor listed", row)
			}
			delete(known, row)
		}
	}
	for name := range known {
		t.Errorf("there is no row %s", name)
	}
}

// allocatorTable returns the keys of the tables of a file: map[string]AllocatorTestCase.
func allocatorTable(file *ast.File) (rows []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := table.Type.(*ast.MapType)
		if !ok {
			return true
		}
		if value, ok := of.Value.(*ast.Ident); ok && value.Name == "AllocatorTestCase" {
			for _, e := range table.Elts {
				if key, ok := e.(*ast.KeyValueExpr).Key.(*ast.BasicLit); ok {
					name, _ := strconv.Unquote(key.Value)
					rows = append(rows, name)
				}
			}
		}
		return true
	})
	return rows
}
