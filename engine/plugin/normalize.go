package plugin

// Normalize scales scores to 0..MaxScore by the largest; with reverse the smallest becomes the best
// (pkg/scheduler/framework/plugins/helper DefaultNormalizeScore, v1.37).
func Normalize(scores []int64, reverse bool) {
	var most int64
	for _, s := range scores {
		most = max(most, s)
	}
	for i, s := range scores {
		if most != 0 {
			s = MaxScore * s / most
		}
		if reverse {
			s = MaxScore - s
		}
		scores[i] = s
	}
}
