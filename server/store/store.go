// Package store keeps snapshots in a store that servers share, so that one that starts needs none from its callers.
//
// A store is any server of Bazel's Remote Execution API with a content-addressable storage and an action cache, such as bazel-remote or
// buildbarn's bb-storage. The pages of a snapshot are blobs, so snapshots that differ little share most of them. An action result, found
// by tenant and address, lists the pages in order. What comes from a store is compiled and verified by its address, as what comes from
// another replica is: a store that is wrong costs time, and no answer is.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"
	"weak"

	remote "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/proto/content"
	peerv1 "github.com/stowage-scheduler/stowage/proto/stowage/peer/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

const (
	// patience is how long the store may take to read, and writing how long each step of keeping a snapshot may take.
	patience, writing = time.Second, 10 * time.Second
	// pause is how long the store is not read after it did not answer.
	pause = 5 * time.Second
	// batchBytes is the size of blobs in one call. Stores take messages of 4 MiB, gRPC's default.
	batchBytes = 3 << 20
	// queued is how many snapshots wait to be kept. Beyond it the oldest is dropped: a newer one has often replaced it.
	queued = 32
	// knownPages is of how many pages the blobs are remembered.
	knownPages = 1 << 14
)

// Settings are those of a store.
type Settings struct {
	// Address is a gRPC target, and Instance the instance name, which may be empty.
	Address, Instance string
	Credentials       credentials.TransportCredentials
	Log               *slog.Logger
	// Dial opens connections; nil for those of the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Store is a shared store. It is safe for concurrent use.
type Store struct {
	instance string
	log      *slog.Logger
	conn     *grpc.ClientConn
	blobs    remote.ContentAddressableStorageClient
	results  remote.ActionCacheClient
	waiting  chan entry
	again    atomic.Int64 // from when on it is read, in Unix nanoseconds

	kept, failed, dropped atomic.Int64
}

// entry is a snapshot that is to be kept. One that waits takes no memory beyond the cache's, whose limit counts it.
type entry struct {
	tenant  string
	content weak.Pointer[content.Content]
}

// Connect returns a store, and connects to it meanwhile.
func Connect(s Settings) (*Store, error) {
	options := []grpc.DialOption{grpc.WithTransportCredentials(s.Credentials), grpc.WithIdleTimeout(0)}
	if s.Dial != nil {
		options = append(options, grpc.WithContextDialer(s.Dial))
	}
	conn, err := grpc.NewClient(s.Address, options...)
	if err != nil {
		return nil, err
	}
	conn.Connect()
	return &Store{
		instance: s.Instance, log: s.Log, conn: conn, waiting: make(chan entry, queued),
		blobs: remote.NewContentAddressableStorageClient(conn), results: remote.NewActionCacheClient(conn),
	}, nil
}

// Close closes the connection.
func (s *Store) Close() error { return s.conn.Close() }

// Counts returns how many snapshots were kept, could not be kept, and were dropped: too many waited, or the cache evicted them first.
func (s *Store) Counts() (kept, failed, dropped int64) {
	return s.kept.Load(), s.failed.Load(), s.dropped.Load()
}

// digestOf returns the digest of a blob.
func digestOf(blob []byte) *remote.Digest {
	sum := sha256.Sum256(blob)
	return &remote.Digest{Hash: hex.EncodeToString(sum[:]), SizeBytes: int64(len(blob))}
}

// key returns what finds a tenant's snapshot. Whoever knows an address alone cannot tell whether a tenant has it.
func key(tenant, address string) *remote.Digest {
	return digestOf(fmt.Appendf(nil, "stowage.v1.Snapshot %q %s", tenant, address))
}

// Keep has a tenant's snapshot be kept soon.
func (s *Store) Keep(tenant string, c *content.Content) {
	for e := (entry{tenant, weak.Make(c)}); ; {
		select {
		case s.waiting <- e:
			return
		default:
		}
		select {
		case <-s.waiting:
			s.dropped.Add(1)
		default:
		}
	}
}

// Run keeps snapshots until the context ends.
func (s *Store) Run(ctx context.Context) {
	known := make(map[content.Page][]*remote.Digest)
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.waiting:
			c := e.content.Value()
			if c == nil {
				s.dropped.Add(1)
				continue
			}
			err := s.keep(ctx, e.tenant, c, known)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				s.kept.Add(1)
			default:
				s.failed.Add(1)
				if !failing {
					s.log.Warn("the store does not keep snapshots", "error", err)
				}
			}
			failing = err != nil
		}
	}
}

// errLarge is why a snapshot is not kept that has an item that is larger than a message.
var errLarge = errors.New("an item is larger than a message of the store")

// keep stores the pages that the store lacks, then the list of all.
func (s *Store) keep(ctx context.Context, tenant string, c *content.Content, known map[content.Page][]*remote.Digest) error {
	result := &remote.ActionResult{}
	want := &remote.FindMissingBlobsRequest{InstanceName: s.instance}
	if len(known) > knownPages {
		clear(known)
	}
	for page, parts := range c.Pages() {
		digests, ok := known[page]
		if !ok {
			for part := range parts {
				if len(part) > batchBytes {
					return errLarge
				}
				digests = append(digests, digestOf(part))
			}
			known[page] = digests
		}
		for _, d := range digests {
			result.OutputFiles = append(result.OutputFiles, &remote.OutputFile{
				Path: fmt.Sprintf("%08d", len(result.OutputFiles)), Digest: d,
			})
			want.BlobDigests = append(want.BlobDigests, d)
		}
	}
	if len(want.BlobDigests) > 0 {
		if err := s.upload(ctx, c, want, known); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	_, err := s.results.UpdateActionResult(ctx, &remote.UpdateActionResultRequest{
		InstanceName: s.instance, ActionDigest: key(tenant, c.Address().String()), ActionResult: result,
	})
	return err
}

// upload uploads those of a snapshot's blobs that the store lacks.
func (s *Store) upload(
	ctx context.Context, c *content.Content, want *remote.FindMissingBlobsRequest, known map[content.Page][]*remote.Digest,
) error {
	finding, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	found, err := s.blobs.FindMissingBlobs(finding, want)
	if err != nil {
		return err
	}
	missing := make(map[string]bool, len(found.GetMissingBlobDigests()))
	for _, d := range found.GetMissingBlobDigests() {
		missing[d.GetHash()] = true
	}
	batch, bytes := &remote.BatchUpdateBlobsRequest{InstanceName: s.instance}, 0
	for page, parts := range c.Pages() {
		digests, i := known[page], 0
		for part := range parts {
			d := digests[i]
			i++
			if !missing[d.GetHash()] {
				continue
			}
			delete(missing, d.GetHash())
			if bytes > 0 && bytes+len(part) > batchBytes {
				if err := s.send(ctx, batch); err != nil {
					return err
				}
				batch.Requests, bytes = nil, 0
			}
			batch.Requests = append(batch.Requests, &remote.BatchUpdateBlobsRequest_Request{Digest: d, Data: part})
			bytes += len(part)
		}
	}
	if bytes == 0 {
		return nil
	}
	return s.send(ctx, batch)
}

func (s *Store) send(ctx context.Context, batch *remote.BatchUpdateBlobsRequest) error {
	ctx, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	answer, err := s.blobs.BatchUpdateBlobs(ctx, batch)
	if err != nil {
		return err
	}
	for _, r := range answer.GetResponses() {
		if code := codes.Code(r.GetStatus().GetCode()); code != codes.OK {
			return status.Error(code, r.GetStatus().GetMessage())
		}
	}
	return nil
}

// Offers implements placement.Source.
func (s *Store) Offers(ctx context.Context, request *peerv1.FetchSnapshotRequest) iter.Seq[placement.Offer] {
	return func(yield func(placement.Offer) bool) {
		if time.Now().UnixNano() < s.again.Load() {
			return
		}
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		yield(&offer{store: s, ctx: inner, key: key(request.GetTenant(), request.GetAddress())})
	}
}

// offer is a snapshot in the store.
type offer struct {
	store  *Store
	ctx    context.Context
	key    *remote.Digest
	listed bool
	files  []*remote.OutputFile // that are not read
	read   [][]byte             // that are not received
}

// Receive implements placement.Offer.
func (o *offer) Receive() (*wire.Request, error) {
	ctx, cancel := context.WithTimeout(o.ctx, patience)
	defer cancel()
	part, err := o.next(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && o.ctx.Err() == nil {
		o.store.again.Store(time.Now().Add(pause).UnixNano())
		o.store.log.Warn("the store does not answer", "pause", pause.String())
	}
	if err != nil {
		return nil, err
	}
	return &wire.Request{Message: new(peerv1.FetchSnapshotResponse), Cluster: wire.Pieces{part}}, nil
}

// next returns the next part.
func (o *offer) next(ctx context.Context) (part []byte, err error) {
	if !o.listed {
		result, err := o.store.results.GetActionResult(ctx, &remote.GetActionResultRequest{InstanceName: o.store.instance, ActionDigest: o.key})
		if err != nil {
			return nil, err
		}
		o.listed, o.files = true, result.GetOutputFiles()
		if len(o.files) == 0 {
			return nil, nil
		}
	}
	if len(o.read) == 0 {
		if len(o.files) == 0 {
			return nil, io.EOF
		}
		if err := o.batch(ctx); err != nil {
			return nil, err
		}
	}
	part, o.read = o.read[0], o.read[1:]
	return part, nil
}

// batch reads the next files.
func (o *offer) batch(ctx context.Context) error {
	request := &remote.BatchReadBlobsRequest{InstanceName: o.store.instance}
	for bytes := int64(0); len(o.files) > 0; o.files = o.files[1:] {
		d := o.files[0].GetDigest()
		if bytes += d.GetSizeBytes(); bytes > batchBytes && len(request.Digests) > 0 {
			break
		}
		request.Digests = append(request.Digests, d)
	}
	wanted := request.Digests
	request.Digests = slices.CompactFunc(slices.Clone(wanted), func(a, b *remote.Digest) bool { return a.GetHash() == b.GetHash() })
	answer, err := o.store.blobs.BatchReadBlobs(ctx, request)
	if err != nil {
		return err
	}
	blobs := make(map[string][]byte, len(answer.GetResponses()))
	for _, r := range answer.GetResponses() {
		blobs[r.GetDigest().GetHash()] = r.GetData()
	}
	for _, d := range wanted { // answers may come in any order
		blob, ok := blobs[d.GetHash()]
		if !ok || int64(len(blob)) != d.GetSizeBytes() {
			return status.Errorf(codes.NotFound, "the store lacks blob %s", d.GetHash())
		}
		o.read = append(o.read, blob)
	}
	return nil
}

// Reject implements placement.Offer.
func (o *offer) Reject(why error) {
	o.store.log.Warn("what the store has is not the snapshot", "error", why)
}
