// Package ledger counts the memory of calls that the server's other limits do not see: of connections, of requests that are being
// received, and of answers that their callers have not read.
//
// gRPC does not report a request before its last byte has arrived, nor an answer after it was handed over. Conn, the connection
// below gRPC, therefore reads the headers of HTTP/2 frames, and counts for each call what was received and not yet taken by its
// handler. An answer counts until gRPC has written its last byte.
//
// Bytes count against limits that clients share: a client gets more bytes only while it holds at most as many as are free. So one
// client alone gets half of a limit, and whatever others hold, something is left for the next one. A call that gets none fails with
// OVERLOADED; an answer that gets none is replaced with that error.
package ledger
