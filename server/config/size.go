package config

import (
	"fmt"
	"math"
	"reflect"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
)

// Auto is a size that FitMemory sets.
const Auto = -1

// BytesPerRequestByte bounds the bytes of memory that the largest requests take for each of their bytes: the peak of the heap divided
// by wire-B of bench.BenchmarkInline (12.6 in both forms of the cluster), rounded up.
const BytesPerRequestByte = 13

// BytesPerInFlightByte is BytesPerRequestByte plus the memory of requests that are still being received: twice the limit of requests
// in flight.
const BytesPerInFlightByte = BytesPerRequestByte + 2

// most is a size without a memory limit.
const most = 1 << 30

// BufferBytes bounds the memory of unread answers, and of connections.
func BufferBytes(limit int64) int64 {
	if limit == math.MaxInt64 {
		return most
	}
	return limit / 16
}

// FitMemory sets the sizes that are Auto so that requests, snapshots and buffers together fit into a limit of memory: a quarter for
// snapshots, or the rest if the other sizes are configured. The limit is a limit of the heap, math.MaxInt64 for none.
func (c *Config) FitMemory(limit int64) {
	const largest = 256 << 20
	if limit != math.MaxInt64 {
		limit -= 2 * BufferBytes(limit)
	}
	inFlight, snapshots := c.MaxInFlightBytes == Auto, c.MaxSnapshotBytes == Auto
	switch {
	case limit == math.MaxInt64:
		if inFlight {
			c.MaxInFlightBytes = most
		}
		if snapshots {
			c.MaxSnapshotBytes = most
		}
	case inFlight && snapshots:
		c.MaxSnapshotBytes = limit / 4
		c.MaxInFlightBytes = (limit - c.MaxSnapshotBytes) / BytesPerInFlightByte
	case inFlight:
		c.MaxInFlightBytes = max((limit-c.MaxSnapshotBytes)/BytesPerInFlightByte, limit/16/BytesPerInFlightByte)
	case snapshots:
		c.MaxSnapshotBytes = max(limit-c.MaxInFlightBytes*BytesPerInFlightByte, limit/16)
	}
	if c.MaxReceiveMessageBytes == Auto {
		c.MaxReceiveMessageBytes = int(min(c.MaxInFlightBytes, largest))
	} else if inFlight { // a configured message size must fit
		c.MaxInFlightBytes = max(c.MaxInFlightBytes, int64(c.MaxReceiveMessageBytes))
	}
}

// sizeInBytes decodes a number of bytes as ParseBytes does, or auto.
func sizeInBytes(c *kong.DecodeContext, into reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("bytes", &text); err != nil {
		return err
	}
	if text == "auto" {
		into.SetInt(Auto)
		return nil
	}
	n, err := ParseBytes(text)
	if err != nil || into.OverflowInt(n) {
		return fmt.Errorf("must be auto, or a number of bytes such as 134217728 or 128Mi, is %q", text)
	}
	into.SetInt(n)
	return nil
}

// ParseBytes parses a number of bytes, which may have a unit: M is 10^6 and Mi 2^20, as in Kubernetes.
func ParseBytes(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a number of bytes such as 134217728 or 128Mi", text)
	}
	return int64(n), nil
}
