package speed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// A floor is a call of another server that does, with a message of the same size, what no server can leave out that answers the
// question, written in the plain way: none of Stowage's code. It scales as Stowage does with the machine: with its system calls, its
// allocations and its memory. An empty call has the first of these alone.

// floors is a server of floors with its client.
type floors struct {
	client *loopback.Client
	server *loopback.Server
}

// work is what a floor does with a request. It returns the answer.
type work = func(request []byte) ([]byte, error)

func serveFloors(methods map[string]work) (*floors, error) {
	server, err := loopback.ServeFloors(methods)
	if err != nil {
		return nil, err
	}
	client, err := loopback.Dial(server.Address)
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return &floors{client, server}, nil
}

func (f *floors) stop() error { return errors.Join(f.client.Close(), f.server.Stop()) }

// of is a floor under calls that are prepared with these requests.
func (f *floors) of(method string, request func() ([]byte, error)) *subject {
	return &subject{
		name: "floor, " + method,
		prepare: func(int) (call, error) {
			in, err := request()
			return func() ([]byte, error) {
				return f.client.Call(context.Background(), loopback.FloorMethod(method), in)
			}, err
		},
	}
}

// recall finds the answer by the request's bytes: the least that a server does that remembers answers.
func recall(request, answer []byte) work {
	kept := map[string][]byte{string(request): answer}
	return func(in []byte) ([]byte, error) {
		out := kept[string(in)]
		if out == nil {
			return nil, errors.New("the floor was sent something else")
		}
		return out, nil
	}
}

// columns are what a decision has to know of nodes at the least.
type columns struct {
	free     [2][]int64 // cpu and memory
	capacity [2][]int64
	pods     []int32
	class    []uint8
}

// The amounts of a node that can take a pod.
const (
	floorFree     = 1 << 32
	floorCapacity = 1 << 34
)

// columnsOf returns the columns of a cluster where these nodes are feasible.
func columnsOf(nodes int, feasible []uint32) *columns {
	c := &columns{pods: make([]int32, nodes), class: make([]uint8, nodes)}
	for r := range c.free {
		c.free[r], c.capacity[r] = make([]int64, nodes), make([]int64, nodes)
	}
	for i := range nodes {
		c.pods[i] = 1
		for r := range c.capacity {
			c.capacity[r][i] = floorCapacity + int64(i)
		}
	}
	for _, i := range feasible {
		for r := range c.free {
			c.free[r][i] = floorFree + int64(i)
		}
	}
	return c
}

// needed are the cpu and the memory of a pod's containers.
func needed(spec *stowagev1.PodSpec) (of [2]int64) {
	for _, c := range spec.GetContainers() {
		of[0] += c.GetRequests().GetCpuMillis()
		of[1] += c.GetRequests().GetMemoryBytes()
	}
	return of
}

// feasible reads of each node what is free and its class, and lists the nodes that pass.
func (c *columns) feasible(need [2]int64) []uint32 {
	var classes [256]bool
	classes[0] = true
	nodes := make([]uint32, 0, len(c.pods))
	for i, pods := range c.pods {
		if pods > 0 && need[0] <= c.free[0][i] && need[1] <= c.free[1][i] && classes[c.class[i]] {
			nodes = append(nodes, uint32(i))
		}
	}
	return nodes
}

// scores are the means of the free shares of cpu and memory of nodes.
func (c *columns) scores(nodes []uint32, need [2]int64) []int64 {
	out := make([]int64, len(nodes))
	for at, i := range nodes {
		for r := range c.free {
			out[at] += (c.free[r][i] - need[r]) * 100 / c.capacity[r][i]
		}
	}
	return out
}

// scan decodes the request with its template, finds the feasible nodes and encodes their numbers; with scores, these too. The rest of
// the answer, which is as long as Stowage's, is zeros.
func scan[M interface {
	proto.Message
	GetPod() *stowagev1.Pod
}](c *columns, empty func() M, scored bool, answerBytes int) work {
	return func(in []byte) ([]byte, error) {
		request := empty()
		if err := proto.Unmarshal(in, request); err != nil {
			return nil, err
		}
		need := needed(request.GetPod().GetTemplate().GetSpec())
		nodes := c.feasible(need)
		out := make([]byte, 0, answerBytes+64)
		for _, n := range nodes {
			out = binary.AppendUvarint(out, uint64(n))
		}
		if scored {
			for _, s := range c.scores(nodes, need) {
				out = binary.AppendUvarint(out, uint64(s))
			}
		}
		if len(out) > answerBytes {
			return nil, fmt.Errorf("the floor's answer has %d bytes, Stowage's %d", len(out), answerBytes)
		}
		return out[:answerBytes], nil
	}
}

// digestBlock is read twice while it is in a core's cache.
const digestBlock = 16 << 10

// digest reads every byte of a cluster: it finds where numbers end, as decoding does, and hashes it, as content addresses do, on all
// cores. gRPC's buffers are copied before, as what is kept of a cluster has to be.
func digest(in []byte) ([]byte, error) {
	cores := runtime.GOMAXPROCS(0)
	sums, ends := make([][]byte, cores), make([]uint64, cores)
	part := (len(in) + cores - 1) / cores
	var group sync.WaitGroup
	for i := range cores {
		piece := in[min(i*part, len(in)):min((i+1)*part, len(in))]
		group.Go(func() {
			hash := sha256.New()
			for block := range slices.Chunk(piece, digestBlock) {
				hash.Write(block)
				ends[i] += varints(block)
			}
			sums[i] = hash.Sum(nil)
		})
	}
	group.Wait()
	sum, n := sha256.New(), uint64(0)
	for i := range cores {
		sum.Write(sums[i])
		n += ends[i]
	}
	return protowire.AppendVarint(sum.Sum(nil), n), nil
}

// varints counts the bytes that may end a number.
func varints(block []byte) (n uint64) {
	for _, b := range block {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// exchange decodes a request and encodes an answer, both as generated messages.
func exchange(request, answer proto.Message) work {
	return func(in []byte) ([]byte, error) {
		if err := proto.Unmarshal(in, proto.Clone(request)); err != nil {
			return nil, err
		}
		return proto.Marshal(answer)
	}
}

// callFloors are the floors under Filter and Score of a case by address.
func callFloors(w *world, c *podCase) (*floors, error) {
	d := w.want[c]
	columns := columnsOf(w.size, d.feasible)
	filter, err := w.target.filterRequest(c.pod(0))
	if err != nil {
		return nil, err
	}
	score, err := w.target.scoreRequest(c.pod(0))
	if err != nil {
		return nil, err
	}
	return serveFloors(map[string]work{
		"filter-seen":  recall(filter, d.filter),
		"score-seen":   recall(score, d.score),
		"filter-first": scan(columns, func() *stowagev1.FilterRequest { return new(stowagev1.FilterRequest) }, false, len(d.filter)),
		"score-first":  scan(columns, func() *stowagev1.ScoreRequest { return new(stowagev1.ScoreRequest) }, true, len(d.score)),
	})
}

// under are the floors' subjects, in the order of names.
func (f *floors) under(w *world, c *podCase, trial func() int, names ...string) []*subject {
	requests := map[string]func() ([]byte, error){
		"filter-seen":  func() ([]byte, error) { return w.target.filterRequest(c.pod(0)) },
		"score-seen":   func() ([]byte, error) { return w.target.scoreRequest(c.pod(0)) },
		"filter-first": func() ([]byte, error) { return w.target.filterRequest(c.pod(trial())) },
		"score-first":  func() ([]byte, error) { return w.target.scoreRequest(c.pod(trial())) },
	}
	var out []*subject
	for _, name := range names {
		out = append(out, f.of(name, requests[name]))
	}
	return out
}
