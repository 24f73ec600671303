package cluster

import "github.com/stowage-scheduler/stowage/engine/api"

// Image is an image that some nodes have.
type Image struct {
	SizeBytes int64    // as the first node says that has it (pkg/scheduler/backend/cache addNodeImageStates, v1.37)
	Nodes     []uint32 // ascending
}

func compileImages(nodes []api.Node) map[string]*Image {
	images := make(map[string]*Image)
	for i := range nodes {
		for _, stated := range nodes[i].Images {
			for _, name := range stated.Names {
				image := images[name]
				if image == nil {
					image = &Image{SizeBytes: stated.SizeBytes}
					images[name] = image
				}
				if n := len(image.Nodes); n == 0 || image.Nodes[n-1] != uint32(i) {
					image.Nodes = append(image.Nodes, uint32(i))
				}
			}
		}
	}
	return images
}
