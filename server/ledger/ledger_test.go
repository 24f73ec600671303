package ledger

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/http2"
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
