package count

import "github.com/stowage-scheduler/stowage/server/wire"

// cursor is a position in an encoded message.
type cursor struct {
	pieces wire.Pieces
	piece  []byte // the current one
	at     int    // in the piece
	before int    // bytes of the pieces before the current one
}

func (c *cursor) position() int { return c.before + c.at }

// refill goes to the next piece that is not empty, if the current one has been read. It reports false at the end.
func (c *cursor) refill() bool {
	for c.at == len(c.piece) {
		if len(c.pieces) == 0 {
			return false
		}
		c.before += len(c.piece)
		c.piece, c.at, c.pieces = c.pieces[0], 0, c.pieces[1:]
	}
	return true
}

// varint reads a varint that must end before end.
func (c *cursor) varint(end int) (v uint64, ok bool) {
	if c.at < len(c.piece) && c.position() < end {
		if b := c.piece[c.at]; b < 0x80 {
			c.at++
			return uint64(b), true
		}
	}
	for shift := 0; shift < 64 && c.position() < end && c.refill(); shift += 7 {
		b := c.piece[c.at]
		c.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift < 63 || b <= 1
		}
	}
	return 0, false
}

// length reads the length of a value that must end before end.
func (c *cursor) length(end int) (n int, ok bool) {
	v, ok := c.varint(end)
	return int(v), ok && v <= uint64(end-c.position())
}

// skipTo goes to a position that is not before the current one, or to the end.
func (c *cursor) skipTo(position int) {
	for position-c.before > len(c.piece) {
		c.at = len(c.piece)
		if !c.refill() {
			return
		}
	}
	c.at = max(position-c.before, c.at)
}

// chunk returns at most n of the next bytes.
func (c *cursor) chunk(n int) []byte {
	if !c.refill() {
		return nil
	}
	b := c.piece[c.at:min(c.at+n, len(c.piece))]
	c.at += len(b)
	return b
}
