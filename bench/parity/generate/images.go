package generate

import (
	corev1 "k8s.io/api/core/v1"
)

// imageNames are references as pods write them; nodes know them by these and by what a tag or digest adds.
var imageNames = []string{
	"app", "app:v1", "app:latest", "shop.example/cart", "shop.example/cart:latest", "shop.example:5000/cart", "shop.example:5000/cart:v2",
	"db@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
}

func (d *draw) nodeImages(n *corev1.Node) {
	const mib = 1 << 20
	for range d.IntN(5) {
		image := corev1.ContainerImage{SizeBytes: int64(pick(d, 0, 1, 10*mib, 23*mib, 50*mib, 123456789, 500*mib, 1000*mib, 3000*mib))}
		for range d.between(1, 2) {
			name := pick(d, imageNames...)
			if d.chance(0.4) {
				name += ":latest"
			}
			image.Names = append(image.Names, name)
		}
		n.Status.Images = append(n.Status.Images, image)
	}
}

func (d *draw) imageVolumes(pod *corev1.Pod) {
	if d.chance(0.2) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	}
	for i := range d.between(1, 2) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name:         []string{"first", "second"}[i],
			VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: pick(d, imageNames...)}},
		})
	}
}
