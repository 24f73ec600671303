package main

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/bench/process"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// measured is a server whose processor time is measured.
type measured struct {
	*process.Process
	client stowagev1.PlacementServiceClient
}

func startMeasured(b *testing.B, settings ...string) *measured {
	b.Helper()
	all := append([]string{"--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--drain-delay=0s"}, settings...)
	p, err := process.Start(exec.Command("stowage-server", all...))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.End(syscall.SIGINT); err != nil {
			b.Error(err)
		}
	})
	conn, err := grpc.NewClient(p.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return &measured{p, stowagev1.NewPlacementServiceClient(conn)}
}

// cpuTime is the processor time of the server's process, in nanoseconds: the clock of a process is ^pid<<3|2 (CPUCLOCK_SCHED of
// linux/posix-timers.h).
func (m *measured) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^m.Cmd.Process.Pid<<3|2), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// turn returns the processor time of some calls, of which several are underway at a time: on a busy machine one call alone waits for a processor.
func (m *measured) turn(b *testing.B, call func(stowagev1.PlacementServiceClient) error) time.Duration {
	b.Helper()
	const callers, calls = 16, 100
	before := m.cpuTime(b)
	var group errgroup.Group
	for range callers {
		group.Go(func() error {
			for range calls {
				if err := call(m.client); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return m.cpuTime(b) - before
}

// BenchmarkGRPCBesideHTTP compares the processor time of calls over gRPC to servers with and without http-address, as the median of the
// ratios of turns. A second server without http-address shows how exact the ratio is. -benchtime=200x makes 200 turns.
func BenchmarkGRPCBesideHTTP(b *testing.B) {
	without, again := startMeasured(b), startMeasured(b)
	with := startMeasured(b, "--http-address=127.0.0.1:0")
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}, {Name: "b"}}}}},
		Pod:     &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
	}
	for name, call := range map[string]func(stowagev1.PlacementServiceClient) error{
		"info": func(c stowagev1.PlacementServiceClient) error {
			_, err := c.GetServerInfo(b.Context(), &stowagev1.GetServerInfoRequest{})
			return err
		},
		"filter": func(c stowagev1.PlacementServiceClient) error {
			_, err := c.Filter(b.Context(), request)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			servers := []*measured{without, with, again}
			for _, s := range servers {
				s.turn(b, call)
			}
			var ratios, control []float64
			for b.Loop() {
				var took [3]time.Duration
				for i := range servers { // each turn begins with another server
					n := (i + len(ratios)) % len(servers)
					took[n] = servers[n].turn(b, call)
				}
				ratios = append(ratios, float64(took[1])/float64(took[0]))
				control = append(control, float64(took[2])/float64(took[0]))
			}
			slices.Sort(ratios)
			slices.Sort(control)
			b.ReportMetric(ratios[len(ratios)/2], "with/without")
			b.ReportMetric(control[len(control)/2], "without/without")
		})
	}
}
