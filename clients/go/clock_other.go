//go:build !linux

package fairlock

import "time"

var begin = time.Now()

// now is the monotonic time.
func now() time.Duration { return time.Since(begin) }
