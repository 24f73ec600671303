// Package stowage is the client of a Stowage server.
//
// Dial gives a connection set up for the service: calls go to every replica in turn, replicas that are not serving are
// left out, what a replica could not answer is tried on another, and a server that is too busy is given the time that
// it asks for. With WithPatience, calls wait for a server that is started anew. Every answer is a function of its request
// alone, so trying again is always safe.
//
// # Snapshots
//
// Whoever asks more than once about a cluster puts it once, and names it by its address:
//
//	snapshot, err := stowage.NewSnapshot(cluster)
//	err = client.Put(ctx, snapshot)
//	answer, err := client.Place(ctx, &stowagev1.PlaceRequest{
//		Snapshot: &stowagev1.SnapshotReference{Address: snapshot.Address()},
//		Queue:    queue,
//	})
//
// When the cluster has changed, the next snapshot is made of the last one and what is different, and only that is sent:
//
//	snapshot, err = snapshot.With(delta)
//	err = client.Put(ctx, snapshot)
//
// Servers promise nothing about how long they keep a snapshot. The client does: it remembers the last ones and puts them
// again, to whichever replica turns out not to have one, before the caller would notice.
//
// # Long queues
//
// PlaceStream answers in parts while the server works, and Parts puts them together:
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
//	answer := parts.Answer()
//
// Until the first part has arrived, all that is said above holds for such a call too; after that an error is an error.
//
// # Errors
//
// Details reads what an error says beyond its code.
//
// A Client is safe for concurrent use, and so is a Snapshot.
package stowage
