// Package stowage is the client of a Stowage server.
//
// Dial returns a connection for the service. A call goes to the less loaded of two replicas. A call that a replica fails to answer is
// repeated on another replica. A call that an overloaded server rejects is repeated after the server's delay. With WithPatience, calls
// wait for a restarting server. A response depends only on its request, so repeating a call is always safe.
//
// # Replicas that do not answer
//
// A replica that hangs keeps its connection. Therefore a unary call or a put that takes longer than 95 of 100 calls of its method is
// also made on a second replica, and the first response wins. At most a tenth of all calls have a second call. A replica that leaves
// three consecutive calls without a response receives no calls for a second, then one trial call. If it answers, it receives all calls
// again; otherwise the time doubles, up to half a minute. An error about the request counts as a response.
//
// # Overloaded servers
//
// After a server refuses a call with RetryInfo, the client reduces the number of concurrent calls of that method, and raises it again
// with successful responses. It repeats the other calls later, as if a server had refused them. A call whose deadline is too close for
// a retry fails immediately with RESOURCE_EXHAUSTED. So servers spend their time on responses, not on refusals. A Throttle does the same
// for connections that Dial did not make.
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
// Servers may evict a snapshot at any time. The client keeps the last snapshots, and puts them again to a replica that does not have
// them, without the caller's involvement.
//
// By default calls go to all replicas, so each replica receives each snapshot. With WithOwners they go to a few replicas, which are the
// same for all clients with one key.
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
// Until the first part arrives, the client repeats such a call like any other. It returns later errors.
//
// # Errors
//
// Details returns the details of an error.
//
// Client and Snapshot are safe for concurrent use.
package stowage
