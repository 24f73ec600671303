package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// faulty is a server under a fault.
type faulty struct {
	*exec.Cmd
	log            *json.Decoder
	address, admin string
	client         stowagev1.PlacementServiceClient
}

// logLine is what tests read of a line of the log.
type logLine struct {
	Msg, Address string
	AdminAddress string `json:"admin_address"`
	Lines        int
}

// startFaulty starts a server by a shell command that ends with its name, and connects to it.
func startFaulty(t *testing.T, shell string) *faulty {
	t.Helper()
	s := &faulty{Cmd: exec.CommandContext(t.Context(), "sh", "-c",
		shell+" --listen-address=127.0.0.1:0 --admin-address=127.0.0.1:0 --drain-delay=0s")}
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.log = json.NewDecoder(bufio.NewReader(stderr))
	var serving logLine
	for serving.Msg != "serving" {
		if err := s.log.Decode(&serving); err != nil {
			t.Fatal(err)
		}
	}
	s.connect(t, serving.Address, serving.AdminAddress)
	return s
}

// connect connects to the server at its addresses.
func (s *faulty) connect(t *testing.T, address, admin string) {
	t.Helper()
	s.address, s.admin = address, admin
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s.client = stowagev1.NewPlacementServiceClient(conn)
}

// ready asks for readiness.
func (s *faulty) ready(t *testing.T, timeout time.Duration) error {
	t.Helper()
	return (&healthcheck{AdminAddress: s.admin, Timeout: timeout}).Run(t.Context())
}

// call makes calls one after the other.
func (s *faulty) call(t *testing.T, calls int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range calls {
		if _, err := s.client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// end stops the server and returns the rest of its log.
func (s *faulty) end(t *testing.T) []logLine {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	var rest []logLine
	for {
		var l logLine
		if s.log.Decode(&l) != nil {
			break
		}
		rest = append(rest, l)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	return rest
}

// TestStalledLog expects that no call waits for a reader of the log who stalls, and that the reader later learns how many lines it
// missed.
func TestStalledLog(t *testing.T) {
	s := startFaulty(t, "exec stowage-server")
	const calls = 8000 // more than the pipe and the queue take
	s.call(t, calls)
	logged, dropped := 0, 0
	for _, l := range s.end(t) {
		switch l.Msg {
		case "finished call":
			logged++
		case "log lines were dropped":
			dropped += l.Lines
		}
	}
	if dropped == 0 || logged+dropped < calls || logged+dropped > calls+2 { // "stopping" and "stopped" may be among the dropped
		t.Errorf("of %d calls %d are in the log and %d lines were dropped", calls, logged, dropped)
	}
}

// TestFewDescriptors expects that connections that do nothing take no descriptor that readiness and other callers' calls need.
func TestFewDescriptors(t *testing.T) {
	s := startFaulty(t, "ulimit -n 64 && exec stowage-server")
	s.call(t, 1)
	var idle []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	s.call(t, 1)
	if err := s.ready(t, time.Minute); err != nil {
		t.Errorf("not ready: %v", err)
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	s.end(t)
}

// TestFullDisk expects that calls and readiness do not depend on the log, and that a metric counts the lost lines.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		return l.Addr().String()
	}
	address, admin := free(), free()
	s := &faulty{Cmd: exec.CommandContext(t.Context(), "sh", "-c", "exec stowage-server --listen-address="+address+
		" --admin-address="+admin+" --drain-delay=0s 2>/dev/full")}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.connect(t, address, admin)
	for start := time.Now(); s.ready(t, time.Second) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("not ready")
		}
	}
	s.call(t, 3)
	response, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	// "serving" and the calls; the line of the last call may be on its way
	if dropped := regexp.MustCompile(`(?m)^stowage_log_dropped_total.* [345]$`).Find(metrics); err != nil || dropped == nil {
		t.Errorf("the metric of dropped lines is not there: %v\n%s", err, metrics)
	}
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPause expects that a server that was stopped for a while is not ready meanwhile, and answers the calls that waited, and later
// ones, as if nothing had been.
func TestPause(t *testing.T) {
	pause := 10 * time.Second
	if testing.Short() {
		pause = time.Second
	}
	s := startFaulty(t, "exec stowage-server")
	s.call(t, 1)
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // its threads stop one by one
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := s.client.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{}); err != nil {
			t.Error(err)
		}
	})
	if s.ready(t, pause) == nil {
		t.Error("a server that is stopped is ready")
	}
	if err := s.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	s.call(t, 100)
	if err := s.ready(t, time.Minute); err != nil {
		t.Errorf("not ready: %v", err)
	}
	s.end(t)
}

// TestLittleMemory expects that a server whose memory is limited stays within it, whatever comes at a time, and answers what fits.
func TestLittleMemory(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	if raced.Detector {
		t.Skip("the race detector takes a multiple of the memory")
	}
	// As automemlimit sets it in a container of 512 MiB.
	s := startFaulty(t, "GOMEMLIMIT=460MiB exec stowage-server")
	s.call(t, 1)
	cluster := bigcluster.Compact(bigcluster.New(5000)) // some 5 MB
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}},
		Pod:     &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(0)}},
	}
	var answered, refused atomic.Int64
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			for range 3 {
				switch _, err := s.client.Filter(t.Context(), request); status.Code(err) {
				case codes.OK:
					answered.Add(1)
				case codes.ResourceExhausted:
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	about, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var peak int
	if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(about); m != nil {
		peak, _ = strconv.Atoi(string(m[1]))
	}
	if peak == 0 || peak > 512<<10 || answered.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d kB of memory at most; %d calls are answered, %d refused", peak, answered.Load(), refused.Load())
	}
	t.Logf("%d MiB of memory at most; %d calls are answered, %d refused", peak>>10, answered.Load(), refused.Load())
	s.end(t)
}
