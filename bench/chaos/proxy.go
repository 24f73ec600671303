package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy is a replica's address, which outlives its process, and the network to it, which may fail.
type proxy struct {
	listener net.Listener
	target   atomic.Pointer[string] // where the replica listens
	hole     atomic.Bool            // whether no byte arrives, and none is refused: TCP sends them again later
	late     atomic.Int64           // how much later bytes arrive, in ns
	all      sync.WaitGroup
}

func newProxy(ctx context.Context) (*proxy, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l}
	p.all.Go(func() { p.accept(ctx) })
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.forward(ctx, client) })
	}
}

func (p *proxy) forward(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "tcp", *p.target.Load())
	if err != nil {
		return // as the kernel refuses connections to a process that is not there
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	ended := make(chan struct{}, 2)
	for _, way := range [2][2]net.Conn{{client, server}, {server, client}} {
		p.all.Go(func() {
			p.pipe(way[0], way[1])
			ended <- struct{}{}
		})
	}
	<-ended // one side has closed: so does the other
}

// pipe carries bytes. The bytes of one read arrive later by the delay, but do not wait for earlier bytes.
func (p *proxy) pipe(from io.Reader, to io.Writer) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	way := make(chan chunk, 1024)
	var writer sync.WaitGroup
	writer.Go(func() {
		for c := range way {
			time.Sleep(time.Until(c.due))
			for p.hole.Load() {
				time.Sleep(time.Millisecond)
			}
			if _, err := to.Write(c.bytes); err != nil {
				for range way { // until the reader ends
				}
				return
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			way <- chunk{append([]byte(nil), buffer[:n]...), time.Now().Add(time.Duration(p.late.Load()))}
		}
		if err != nil {
			break
		}
	}
	close(way)
	writer.Wait()
}

func (p *proxy) close() error {
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
