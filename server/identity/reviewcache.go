package identity

import (
	"crypto/sha256"
	"errors"
	"maps"
	"sync/atomic"
	"time"
)

const (
	// validFor is how long a valid token is not reviewed again, and so the delay before a revoked token is refused. invalidFor is
	// the same for invalid tokens.
	validFor, invalidFor = 30 * time.Second, 5 * time.Second
	// reviewTimeout bounds a review.
	reviewTimeout = 5 * time.Second
	// maxReviews bounds concurrent reviews, maxReviewed remembered tokens, maxTokenBytes the size of a reviewed token.
	maxReviews, maxReviewed, maxTokenBytes = 16, 4096, 16 << 10
	// maxAnswerBytes bounds the part of an answer about tokens that is read.
	maxAnswerBytes = 1 << 20
)

// errBusy is the error of a review beyond maxReviews.
var errBusy = errors.New("too many tokens are under review")

// review is the result of a review.
type review struct {
	principals []string // none if the token is not valid
	until      time.Time
}

// reviewCache remembers reviews of tokens by their hashes, without locks, and bounds concurrent reviews.
type reviewCache struct {
	known    atomic.Pointer[map[[sha256.Size]byte]review]
	underway atomic.Int64
	now      func() time.Time
}

func newReviewCache() *reviewCache {
	r := &reviewCache{now: time.Now}
	r.known.Store(&map[[sha256.Size]byte]review{})
	return r
}

// of returns the principals of a token, remembered or found by look. expires is the token's expiry, zero if look does not know it.
func (r *reviewCache) of(token string, look func() (principals []string, expires time.Time, err error)) ([]string, error) {
	if len(token) > maxTokenBytes {
		return nil, nil
	}
	sum := sha256.Sum256([]byte(token))
	if known, ok := (*r.known.Load())[sum]; ok && r.now().Before(known.until) {
		return known.principals, nil
	}
	if r.underway.Add(1) > maxReviews {
		r.underway.Add(-1)
		return nil, errBusy
	}
	defer r.underway.Add(-1)
	principals, expires, err := look()
	if err != nil {
		return nil, err
	}
	lasts := validFor
	if principals == nil {
		lasts = invalidFor
	}
	until := r.now().Add(lasts)
	if !expires.IsZero() && expires.Before(until) {
		until = expires
	}
	r.remember(sum, review{principals, until})
	return principals, nil
}

// recall returns the principals of a token that are remembered.
func (r *reviewCache) recall(token string) []string {
	if len(token) > maxTokenBytes {
		return nil
	}
	known, ok := (*r.known.Load())[sha256.Sum256([]byte(token))]
	if !ok || !r.now().Before(known.until) {
		return nil
	}
	return known.principals
}

// remember publishes a map with one more token. Expired ones go; where too many are left, all go.
func (r *reviewCache) remember(sum [sha256.Size]byte, found review) {
	for {
		old := r.known.Load()
		next := maps.Clone(*old)
		now := r.now()
		maps.DeleteFunc(next, func(_ [sha256.Size]byte, known review) bool { return !now.Before(known.until) })
		if len(next) >= maxReviewed {
			clear(next)
		}
		next[sum] = found
		if r.known.CompareAndSwap(old, &next) {
			return
		}
	}
}
