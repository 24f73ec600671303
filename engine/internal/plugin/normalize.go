package plugin

// Normalize scales scores to 0..MaxScore by the largest; with reverse the smallest becomes the best
// (pkg/scheduler/framework/plugins/helper DefaultNormalizeScore, v1.37).
func Normalize(scores []int64, reverse bool) {
	var most int64
	for _, s := range scores {
		most = max(most, s)
	}
	for i, s := range scores {
		scores[i] = Normalized(s, most, reverse)
	}
}

// Normalized returns the normalized form of one score; most is the highest score.
func Normalized(score, most int64, reverse bool) int64 {
	if most != 0 {
		score = MaxScore * score / most
	}
	if reverse {
		score = MaxScore - score
	}
	return score
}
