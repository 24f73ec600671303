package ledger

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// headerBytes is the size of a frame's header.
const headerBytes = 9

// frames follows a stream of HTTP/2 frames. It never passes the end of a part: the client's preface, a frame's header, its payload.
type frames struct {
	// left is the number of missing bytes of the part.
	left int
	// header has the first have bytes of the part, if the part is a header.
	header   [headerBytes]byte
	have     int
	isHeader bool
}

// frame is a frame's header.
type frame struct {
	http2.FrameType
	http2.Flags
	stream uint32
	length int
}

func newFrames() frames { return frames{left: len(http2.ClientPreface)} }

// pass follows bytes that do not pass the end of the part. It returns a header that is complete.
func (f *frames) pass(bytes []byte) (of frame, complete bool) {
	f.left -= len(bytes)
	if f.isHeader {
		f.have += copy(f.header[f.have:], bytes)
	}
	if f.left > 0 {
		return frame{}, false
	}
	if f.isHeader {
		of = frame{
			http2.FrameType(f.header[3]), http2.Flags(f.header[4]), binary.BigEndian.Uint32(f.header[5:]) &^ (1 << 31),
			int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2]),
		}
		f.left, f.isHeader = of.length, false
		complete = true
	}
	if f.left == 0 {
		f.left, f.have, f.isHeader = headerBytes, 0, true
	}
	return of, complete
}
