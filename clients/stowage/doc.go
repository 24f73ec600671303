// Package stowage is the client of a Stowage server.
//
// Dial returns a connection for the service. Of two replicas a call goes to the one with fewer calls under way. A
// call that a replica fails to answer is repeated on another one. A call that an overloaded server rejects is repeated
// after the delay that the server gives. With WithPatience, calls wait for a server that restarts. A response depends on
// its request alone, so repeating a call is always safe.
//
// # Replicas that do not answer
//
// A replica that hangs keeps its connection. A unary call, or a put, that takes longer than 95 of 100 calls of its method is
// therefore made on a second replica at the same time, and the first response is taken. Such second calls are at most a tenth of all.
// A replica that left three calls in a row without a response gets none for a second, then one, and all again if it answers that;
// otherwise the time doubles, up to half a minute. A response that is an error of the request counts as a response.
//
// # Servers that have too much work
//
// After a server refused a call with RetryInfo, the client lets fewer calls of that method be under way, and more again as they are
// answered. It repeats the others later as if a server had refused them. A call whose deadline is too close for that fails with
// RESOURCE_EXHAUSTED at once. So servers spend their time on answers, not on refusals. A Throttle does the same for connections
// that Dial did not make.
//
// # Snapshots
//
// A caller with several requests about a cluster puts the cluster once, and refers to it by its address:
//
//	snapshot, err := stowage.NewSnapshot(cluster)
//	err = client.Put(ctx, snapshot)
//	reference := &stowagev1.SnapshotReference{Address: snapshot.Address()}
//	response, err := client.Place(ctx, &stowagev1.PlaceRequest{
//		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}},
//		Queue:   queue,
//	})
//
// When the cluster changes, a delta to the last snapshot gives the next one, and Put sends only the delta:
//
//	snapshot, err = snapshot.With(delta)
//	err = client.Put(ctx, snapshot)
//
// Servers do not guarantee how long they keep a snapshot. The client keeps the last ones, and puts them again to a
// replica that does not have them. The caller does not notice.
//
// With many replicas each of them gets each snapshot, as calls go to all. With WithOwners they go to a few, which are the same for all
// clients with one key.
//
// # Long queues
//
// PlaceStream responds in parts while the server decides, and Parts merges them:
//
//	stream, err := client.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: request})
//	parts := stowage.NewParts(request)
//	for {
//		part, err := stream.Recv()
//		if err == io.EOF {
//			break
//		}
//		err = parts.Add(part)
//	}
//	response := parts.Answer()
//
// Until the first part arrives, the client repeats such a call like any other. A later error is returned.
//
// # Errors
//
// Details returns the details of an error.
//
// Client and Snapshot are safe for concurrent use.
package stowage
