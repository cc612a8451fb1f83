package fairlock

import "sync"

// A listener receives the messages about the keys of one owner.
type listener struct{ hear func(message) }

type listenerName struct{ key, owner string }

// listeners has one listener for each key of an owner.
type listeners struct {
	mu     sync.Mutex
	byName map[listenerName]*listener
}

// set replaces an earlier listener.
func (l *listeners) set(keys []string, owner string, to *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.byName[listenerName{key, owner}] = to
	}
}

// remove leaves a later listener alone, because the same owner may ask again before it releases a
// lost hold.
func (l *listeners) remove(keys []string, owner string, it *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		if name := (listenerName{key, owner}); l.byName[name] == it {
			delete(l.byName, name)
		}
	}
}

func (l *listeners) deliver(it message) {
	l.mu.Lock()
	to := l.byName[listenerName{it.key, it.owner}]
	l.mu.Unlock()
	if to != nil {
		to.hear(it)
	}
}

// deliverToAll tells each listener once, even if it has several keys.
func (l *listeners) deliverToAll(it message) {
	l.mu.Lock()
	all := map[*listener]bool{}
	for _, to := range l.byName {
		all[to] = true
	}
	l.mu.Unlock()
	for to := range all {
		to.hear(it)
	}
}
