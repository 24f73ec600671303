package ledger

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"golang.org/x/net/http2"

	"github.com/stowage-scheduler/stowage/server/wire"
)

func TestShares(t *testing.T) {
	m := meter{limit: 1000}
	for client, want := range []int64{500, 250, 125} {
		var got int64
		for m.take(account(client), 1) {
			got++
		}
		if got != want {
			t.Errorf("client %d gets %d bytes, want %d", client, got, want)
		}
	}
	m.give(0, 500)
	if !m.take(3, 300) || m.take(3, 300) {
		t.Error("what was given back is not shared anew")
	}
}

func TestCountedIsGivenBackOnce(t *testing.T) {
	var c counted
	c.add(10)
	if got := c.remove(4); got != 4 {
		t.Errorf("removed %d", got)
	}
	if got := c.remove(40); got != 6 {
		t.Errorf("removed %d of 6", got)
	}
	c.add(5)
	if got := c.end(); got != 5 {
		t.Errorf("the end gives %d back", got)
	}
	if c.add(7) || c.remove(7) != 0 || c.end() != 0 {
		t.Error("something counts after the end")
	}
}

// TestFrames reads frames in pieces of any size, and expects their headers and no piece over the end of a part.
func TestFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var stream bytes.Buffer
		stream.WriteString(http2.ClientPreface)
		w := http2.NewFramer(&stream, nil)
		var want []frame
		for range rng.IntN(20) {
			data := make([]byte, rng.IntN(3)*rng.IntN(100))
			id := uint32(1 + 2*rng.IntN(5))
			switch rng.IntN(3) {
			case 0:
				end := rng.IntN(2) == 0
				if err := w.WriteData(id, end, data); err != nil {
					t.Fatal(err)
				}
				f := frame{http2.FrameData, 0, id, len(data)}
				if end {
					f.Flags = http2.FlagDataEndStream
				}
				want = append(want, f)
			case 1:
				if err := w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: data, EndHeaders: true}); err != nil {
					t.Fatal(err)
				}
				want = append(want, frame{http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, len(data)})
			case 2:
				if err := w.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
					t.Fatal(err)
				}
				want = append(want, frame{http2.FrameRSTStream, 0, id, 4})
			}
		}
		f := newFrames()
		var got []frame
		for stream.Len() > 0 {
			piece := stream.Next(min(1+rng.IntN(30), f.left))
			if header, complete := f.pass(piece); complete {
				got = append(got, header)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d frames, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("frame %d is %v, want %v", i, got[i], want[i])
			}
		}
	}
}

// connected returns a connection of a ledger, and a call on it of a client.
func connected(t *testing.T, l *Ledger, client string) (*Conn, *Call) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = far.Close() })
	c := l.newConn(near, "host", 1)
	if c == nil {
		t.Fatal("no room for a connection")
	}
	go func() { _, _ = io.Copy(io.Discard, far) }()
	return c, &Call{conn: c, client: accountOf(client), parts: 1}
}

// TestUnreadIsGivenBack has callers answer on connections that are closed meanwhile: nothing counts afterwards, for whomever it counted.
func TestUnreadIsGivenBack(t *testing.T) {
	l := New(Settings{UnreadBytes: 1 << 30, ConnectionBytes: 1 << 30})
	for range 200 {
		conn, _ := connected(t, l, "")
		var all sync.WaitGroup
		for caller := range 6 {
			call := &Call{conn: conn, client: accountOf(fmt.Sprint(caller % 4)), parts: 1}
			all.Go(func() {
				for n := range 20 {
					m, err := call.answer(t.Context(), wire.Encoded(make([]byte, least)))
					if err != nil {
						t.Error(err)
					}
					if a, ok := m.(*answer); ok && n%2 == 0 {
						a.release()
					}
				}
			})
		}
		all.Go(func() { _ = conn.Close() })
		all.Wait()
	}
	if bytes := l.unread.total.Load(); bytes != 0 {
		t.Errorf("%d bytes count", bytes)
	}
	for i := range l.unread.of {
		if bytes := l.unread.of[i].Load(); bytes != 0 {
			t.Errorf("account %d holds %d bytes", i, bytes)
		}
	}
}

// TestAnswersCountForWhoeverIsKnown: an answer counts for the name that its caller has when it is sent, else for the host, which then gets
// an eighth.
func TestAnswersCountForWhoeverIsKnown(t *testing.T) {
	name := ""
	l := New(Settings{UnreadBytes: 9 * least, ConnectionBytes: 1 << 30, Name: func(context.Context) string { return name }})
	conn, call := connected(t, l, "host")
	call.parts = strangerParts
	send := func() error {
		_, err := call.answer(t.Context(), wire.Encoded(make([]byte, least)))
		return err
	}
	if err := send(); err != nil {
		t.Errorf("an eighth of what is free: %v", err)
	}
	if err := send(); err == nil {
		t.Error("a caller without a name gets more than an eighth")
	}
	name = "somebody"
	for accountOf("client "+name) == conn.client { // names may share an account
		name += "-else"
	}
	for range 4 {
		if err := send(); err != nil {
			t.Errorf("half of what is free: %v", err)
		}
	}
	if err := send(); err == nil {
		t.Error("a caller gets more than half")
	}
	if host, caller := l.unread.of[conn.client].Load(), l.unread.of[accountOf("client "+name)].Load(); host != least || caller != 4*least {
		t.Errorf("the host holds %d bytes and the caller %d", host, caller)
	}
}

// TestConnectionThatTakesNothingIsClosed: an answer waits on a connection that takes nothing, and on one that goes on taking bytes.
func TestConnectionThatTakesNothingIsClosed(t *testing.T) {
	l := New(Settings{UnreadBytes: 1 << 30, ConnectionBytes: 1 << 30, SendTimeout: 100 * time.Millisecond})
	conn, call := connected(t, l, "")
	if _, err := call.answer(t.Context(), wire.Encoded(make([]byte, least))); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := conn.Write(make([]byte, 1)); err != nil {
			t.Fatalf("a connection that takes bytes: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for until := time.Now().Add(time.Minute); !conn.closed.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a connection that takes nothing stays")
		}
	}
	for until := time.Now().Add(time.Minute); l.unread.total.Load() != 0; time.Sleep(time.Millisecond) { // Close goes on
		if time.Now().After(until) {
			t.Fatalf("%d bytes count", l.unread.total.Load())
		}
	}
}

// TestClosedConnectionKeepsNoAnswers: gRPC drops the answers of a closed connection, which nothing else refers to.
func TestClosedConnectionKeepsNoAnswers(t *testing.T) {
	l := New(Settings{UnreadBytes: 1 << 30, ConnectionBytes: 1 << 30, SendTimeout: time.Hour})
	conn, call := connected(t, l, "")
	encoded := make([]byte, least)
	kept := weak.Make(&encoded[0])
	if _, err := call.answer(t.Context(), wire.Encoded(encoded)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if kept.Value() != nil {
		t.Error("an answer stays after its connection")
	}
	runtime.KeepAlive(call)
}
