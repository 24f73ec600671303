package place

import "github.com/stowage-scheduler/stowage/clients/answer/words"

// Devices are the claims of placed pods that got devices, each with its pod, its node and its devices, in the order of the pods.
func (a *Answer) Devices() [][]string {
	var rows [][]string
	nodes := a.Snapshot.Cluster.GetNodes()
	for _, c := range a.Response.GetClaimDevices() {
		rows = append(rows, []string{a.Who(c.GetQueueIndex()), nodes[c.GetNodeIndex()].GetName(), words.ClaimOf(c), words.Devices(c.GetDevices())})
	}
	return rows
}
