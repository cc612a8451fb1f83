package fairlock

import (
	"strconv"
	"time"
)

// terms are what a lock is asked for, and make the commands that ask for it.
type terms struct {
	keys       []string
	lease      duration
	limit      *int
	shared     bool
	keep       *duration
	minHold    *duration
	maxWaiters *int
	meta       *string
	label      string
}

// milliseconds rounds up: an end that is too early is worse than one that is too late.
func milliseconds(d duration) string {
	n := (d + time.Millisecond - 1) / time.Millisecond
	if n < 1 {
		n = 1
	}
	return strconv.FormatInt(int64(n), 10)
}

func decimal(token int64) string { return strconv.FormatInt(token, 10) }

func (t *terms) aboutKeys(command string) []string {
	if len(t.keys) == 1 {
		return []string{command, t.keys[0]}
	}
	return append([]string{"M" + command, strconv.Itoa(len(t.keys))}, t.keys...)
}

// lock is LOCK or MLOCK. A wait of nil has no end.
func (t *terms) lock(owner string, wait *duration, channel string) []string {
	words := append(t.aboutKeys("LOCK"), owner, "PX", milliseconds(t.lease), "EXPLAIN")
	switch {
	case wait == nil:
		words = append(words, "WAIT", "FOREVER")
	case *wait > 0:
		words = append(words, "WAIT", milliseconds(*wait)+"ms")
	}
	if channel != "" {
		words = append(words, "NOTIFY", channel)
	}
	return append(words, t.options()...)
}

func (t *terms) options() (words []string) {
	if t.shared {
		words = append(words, "SHARED")
	}
	if t.limit != nil {
		words = append(words, "LIMIT", strconv.Itoa(*t.limit))
	}
	if t.maxWaiters != nil {
		words = append(words, "MAXWAITERS", strconv.Itoa(*t.maxWaiters))
	}
	if t.keep != nil {
		words = append(words, "KEEP", milliseconds(*t.keep)+"ms")
	}
	if t.minHold != nil {
		words = append(words, "MINHOLD", milliseconds(*t.minHold)+"ms")
	}
	if t.meta != nil {
		words = append(words, "META", *t.meta)
	}
	if t.label != "" {
		words = append(words, "LABEL", t.label)
	}
	return words
}

// renew is RENEW or MRENEW; the reply is 1 if all keys are held.
func (t *terms) renew(owner string, token int64, lease duration) []string {
	return append(t.aboutKeys("RENEW"), owner, "PX", milliseconds(lease), "TOKEN", decimal(token))
}

// giveUp is UNLOCK or MUNLOCK of a hold or of a place in the queue.
func (t *terms) giveUp(owner string) []string {
	return append(t.aboutKeys("UNLOCK"), owner)
}

// unlock is UNLOCK or MUNLOCK of one hold.
func (t *terms) unlock(owner string, token int64) []string {
	return append(t.giveUp(owner), "TOKEN", decimal(token))
}

// transfer is TRANSFER; the reply is the new token, or nil.
func (t *terms) transfer(owner string, token int64, newOwner string, lease duration) []string {
	return []string{"TRANSFER", t.keys[0], owner, newOwner, "PX", milliseconds(lease),
		"TOKEN", decimal(token)}
}
