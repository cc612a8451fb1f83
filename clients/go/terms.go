package fairlock

import (
	"strconv"
	"time"
)

// terms describe the lock that is wanted, and make the commands that ask for it.
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

// milliseconds rounds up, because an end that is too early is worse than one that is too late.
func milliseconds(d duration) string {
	n := (d + time.Millisecond - 1) / time.Millisecond
	if n < 1 {
		n = 1
	}
	return strconv.FormatInt(int64(n), 10)
}

func decimal(token int64) string { return strconv.FormatInt(token, 10) }

// aboutKeys begins a command for one key, or the command for several.
func (t *terms) aboutKeys(one, many string) words {
	command := make(words, 0, 8+len(t.keys))
	if len(t.keys) == 1 {
		return append(command, one, t.keys[0])
	}
	command = append(command, many, len(t.keys))
	for _, key := range t.keys {
		command = append(command, key)
	}
	return command
}

// lock is LOCK or MLOCK. A wait of nil has no end. The reply is a map if it explains, otherwise a
// token or nil.
func (t *terms) lock(owner string, wait *duration, channel string, explains bool) words {
	command := append(t.aboutKeys("LOCK", "MLOCK"), owner, "PX", milliseconds(t.lease))
	if explains {
		command = append(command, "EXPLAIN")
	}
	switch {
	case wait == nil:
		command = append(command, "WAIT", "FOREVER")
	case *wait > 0:
		command = append(command, "WAIT", milliseconds(*wait)+"ms")
	}
	if channel != "" {
		command = append(command, "NOTIFY", channel)
	}
	return t.withOptions(command)
}

func (t *terms) withOptions(command words) words {
	if t.shared {
		command = append(command, "SHARED")
	}
	if t.limit != nil {
		command = append(command, "LIMIT", strconv.Itoa(*t.limit))
	}
	if t.maxWaiters != nil {
		command = append(command, "MAXWAITERS", strconv.Itoa(*t.maxWaiters))
	}
	if t.keep != nil && *t.keep > 0 {
		command = append(command, "KEEP", milliseconds(*t.keep)+"ms")
	}
	if t.minHold != nil && *t.minHold > 0 {
		command = append(command, "MINHOLD", milliseconds(*t.minHold)+"ms")
	}
	if t.meta != nil {
		command = append(command, "META", *t.meta)
	}
	if t.label != "" {
		command = append(command, "LABEL", t.label)
	}
	return command
}

// renew is RENEW or MRENEW; the reply is 1 if all keys are held. With GT, it never shortens a lease,
// even if it arrives after a newer one.
func (t *terms) renew(owner string, token int64, lease duration) words {
	return append(t.aboutKeys("RENEW", "MRENEW"), owner, "PX", milliseconds(lease),
		"TOKEN", decimal(token), "GT")
}

// giveUp is UNLOCK or MUNLOCK of a hold or of a place in the queue.
func (t *terms) giveUp(owner string) words {
	return append(t.aboutKeys("UNLOCK", "MUNLOCK"), owner)
}

// unlock is UNLOCK or MUNLOCK of one hold.
func (t *terms) unlock(owner string, token int64) words {
	return append(t.giveUp(owner), "TOKEN", decimal(token))
}

// info is LOCKINFO of the first key.
func (t *terms) info() words { return words{"LOCKINFO", t.keys[0]} }

// transfer is TRANSFER; the reply is the new token, or nil.
func (t *terms) transfer(owner string, token int64, newOwner string, lease duration) words {
	return words{"TRANSFER", t.keys[0], owner, newOwner, "PX", milliseconds(lease),
		"TOKEN", decimal(token)}
}
