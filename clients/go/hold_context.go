package fairlock

import "context"

// holdContext also ends if the lease ran out while the process was stopped, before any timer fires.
// While it is in use, its hold is in use too.
type holdContext struct {
	context.Context
	hold *Hold
	end  context.CancelFunc
}

// Err ends the context if the hold has ended.
func (c holdContext) Err() error {
	if c.hold.Check() != nil {
		c.end()
	}
	return c.Context.Err()
}

// Value also finds the hold itself.
func (c holdContext) Value(key interface{}) interface{} {
	if key == (carriedKey{}) {
		return c.hold.it
	}
	return c.Context.Value(key)
}

// under returns a context that ends with parent and with the hold.
func (h *Hold) under(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(parent)
	h.it.onEnd(end)
	return holdContext{ctx, h, end}, end
}
