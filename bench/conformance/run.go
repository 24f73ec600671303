package conformance

import (
	"context"
)

// Run asks for the answers to a case and returns in what they differ. Place is only asked for where Filter and Score
// agree: its differences would follow from theirs.
func Run(ctx context.Context, c *Case, service Service) []Difference {
	var out []Difference
	for i := range c.Request.Queue {
		filter, err := service.Filter(ctx, FilterRequest(c.Request, i))
		if err != nil {
			return append(out, failure("filter", err))
		}
		score, err := service.Score(ctx, ScoreRequest(c.Request, i))
		if err != nil {
			return append(out, failure("score", err))
		}
		out = append(out, differFilter(c.Filter[i], filter)...)
		out = append(out, differScore(c.Score[i], score)...)
		out = append(out, differ("score rejections", filter.Rejections, score.Rejections)...)
	}
	if len(out) > 0 {
		return out
	}
	place, err := service.Place(ctx, c.Request)
	if err != nil {
		return append(out, failure("place", err))
	}
	return differPlace(c.Place, place)
}

func failure(what string, err error) Difference {
	return Difference{Kind: what + " fails", Text: err.Error()}
}
