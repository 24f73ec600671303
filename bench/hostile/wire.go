package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/time/rate"
)

// caller is an HTTP/2 connection that does what no gRPC client does. One goroutine may write to it.
type caller struct {
	ctx     context.Context
	conn    net.Conn
	framer  *http2.Framer
	headers bytes.Buffer
	encoder *hpack.Encoder
	next    uint32
	ended   chan struct{} // closed when the server closes the connection

	mu     sync.Mutex // the window and the answers are shared with the reader
	more   *sync.Cond
	window int64
	gone   bool
	codes  map[string]int // answers by their grpc-status

	bytes *rate.Limiter // of all callers
}

// dial connects from the attackers' address of the loopback network, which distinguishes them from the neighbour. window is how many
// bytes of each answer the connection accepts.
func (a *arena) dial(ctx context.Context, window uint32) (*caller, error) {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 5 * time.Second}
	conn, err := from.DialContext(ctx, "tcp", a.process.Address)
	if err != nil {
		return nil, err
	}
	c := &caller{
		ctx: ctx, bytes: a.bytes, conn: conn, framer: http2.NewFramer(conn, conn), next: 1, ended: make(chan struct{}),
		window: 65535, codes: map[string]int{},
	}
	c.more = sync.NewCond(&c.mu)
	c.encoder = hpack.NewEncoder(&c.headers)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go c.read()
	return c, nil
}

// read reads until the connection ends. It never takes more of an answer than its window.
func (c *caller) read() {
	defer close(c.ended)
	for {
		f, err := c.framer.ReadFrame()
		c.mu.Lock()
		var stream http2.StreamError
		if err != nil && !errors.As(err, &stream) {
			c.gone = true
			c.more.Broadcast()
			c.mu.Unlock()
			return
		}
		switch f := f.(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				c.window += int64(f.Increment)
				c.more.Broadcast()
			}
		case *http2.MetaHeadersFrame:
			for _, field := range f.Fields {
				if field.Name == "grpc-status" {
					c.codes[field.Value]++
				}
			}
		}
		c.mu.Unlock()
	}
}

// open begins a call and returns its stream.
func (c *caller) open(method string, extra ...hpack.HeaderField) (stream uint32, err error) {
	c.headers.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: method},
		{Name: ":authority", Value: "hostile"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, extra...) {
		if err := c.encoder.WriteField(f); err != nil {
			return 0, err
		}
	}
	stream, c.next = c.next, c.next+2
	block := c.headers.Bytes()
	first := block[:min(len(block), 16<<10)]
	err = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first, EndHeaders: len(first) == len(block)})
	for rest := block[len(first):]; err == nil && len(rest) > 0; {
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		err = c.framer.WriteContinuation(stream, len(rest) == 0, part)
	}
	return stream, err
}

// errClosed is the error of a connection that the server closed.
var errClosed = errors.New("the server closed the connection")

// send sends bytes as the connection's window allows.
func (c *caller) send(stream uint32, data []byte, end bool) error {
	for {
		part := data[:min(len(data), 16<<10)]
		c.mu.Lock()
		for c.window < int64(len(part)) && !c.gone {
			c.more.Wait()
		}
		c.window -= int64(len(part))
		gone := c.gone
		c.mu.Unlock()
		if gone {
			return errClosed
		}
		if err := c.bytes.WaitN(c.ctx, len(part)); err != nil {
			return err
		}
		data = data[len(part):]
		if err := c.framer.WriteData(stream, end && len(data) == 0, part); err != nil || len(data) == 0 {
			return err
		}
	}
}

// prefix is the prefix of a message.
func prefix(compressed bool, length int) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(length))
	if compressed {
		out[0] = 1
	}
	return out
}

// unary makes a call with a message and does not wait for its answer.
func (c *caller) unary(method string, message []byte, compressed bool, extra ...hpack.HeaderField) error {
	stream, err := c.open(method, extra...)
	if err != nil {
		return err
	}
	if err := c.send(stream, prefix(compressed, len(message)), false); err != nil {
		return err
	}
	return c.send(stream, message, true)
}

// answers returns how many answers the connection got, by their grpc-status.
func (c *caller) answers() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.codes)
}
