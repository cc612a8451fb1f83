package fairlock

import (
	"context"
	"fmt"
)

// carriedKey finds the holds that a context carries: the hold whose context it is, and the holds of
// the context with which that one was acquired.
type carriedKey struct{}

func carriedBy(ctx context.Context) *holding {
	inner, _ := ctx.Value(carriedKey{}).(*holding)
	return inner
}

// nested returns an error if this context already holds one of the keys as another owner, because
// it would wait for itself. A semaphore may be entered twice.
func (s *settings) nested(ctx context.Context, at *link) error {
	for h := carriedBy(ctx); h != nil; h = h.outer {
		if h.link != at || h.owner == s.owner || h.terms.limit != nil && s.limit != nil {
			continue
		}
		for _, key := range s.keys {
			if h.has(key) && h.check() == nil {
				return fmt.Errorf("%w: this context holds %q already, as %s", ErrDeadlock, key,
					printable(h.owner))
			}
		}
	}
	return nil
}

func (h *holding) has(key string) bool {
	for _, held := range h.keys {
		if held == key {
			return true
		}
	}
	return false
}
