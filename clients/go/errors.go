package fairlock

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The errors of this package, for errors.Is. Errors of the connection, of permissions and of limits
// of the server are those of go-redis.
var (
	// ErrDenied means that the lock was not granted, either at once or until the wait was over. The
	// error is a *DeniedError.
	ErrDenied = errors.New("fairlock: denied")
	// ErrLostHold means that the lock is no longer held, or that this is not certain.
	ErrLostHold = errors.New("fairlock: the hold is lost")
	// ErrWaitEnded means that CANCEL, CLIENT UNBLOCK or a newer request of this owner ended the
	// wait.
	ErrWaitEnded = errors.New("fairlock: another request ended the wait")
	// ErrDeadlock means that the wait would never end. The text names the owners that wait for each
	// other. The wait may also be for the hold whose context the call was given, if one key is locked
	// twice in nested calls.
	ErrDeadlock = errors.New("fairlock: deadlock")
	// ErrNotFairlock means that the server does not know LOCK. It may be Redis.
	ErrNotFairlock = errors.New("fairlock: the server is not fairlock, it may be Redis")
	// ErrNeedsCluster means that the server belongs to a fleet of several partitions, which needs a
	// *redis.ClusterClient.
	ErrNeedsCluster = errors.New("fairlock: a fleet of several partitions needs a cluster client")
)

// DeniedError is ErrDenied with the reason.
type DeniedError struct {
	// Explanation says who holds the lock, and how long the wait may take.
	Explanation Explanation
	// Keys are the keys that were asked for.
	Keys []string
	// Waited is how long the wait lasted; 0 if there was none.
	Waited time.Duration
}

// Error names the keys and those who hold them, in one line.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("fairlock: %s not granted", quoted(e.Keys))
	if e.Waited > 0 {
		text += " in " + rounded(e.Waited)
	}
	return text + ": " + e.Explanation.String()
}

// Is lets errors.Is find ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// keysError is another error of an acquisition or a hold.
type keysError struct {
	keys []string
	err  error
}

// about names the keys in an error, unless its text has them already.
func about(keys []string, err error) error {
	if errors.Is(err, ErrDenied) {
		return err
	}
	return &keysError{keys, err}
}

func (e *keysError) Error() string {
	return "fairlock: " + quoted(e.keys) + ": " + strings.TrimPrefix(e.err.Error(), "fairlock: ")
}

func (e *keysError) Unwrap() error { return e.err }

func quoted(keys []string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = fmt.Sprintf("%q", key)
	}
	return strings.Join(texts, ", ")
}

// printable shows any bytes in one line.
func printable(owner string) string {
	isPlain := utf8.ValidString(owner)
	for _, letter := range owner {
		isPlain = isPlain && unicode.IsPrint(letter)
	}
	if isPlain {
		return owner
	}
	return fmt.Sprintf("%q", owner)
}

// rounded has at most three digits that matter to people.
func rounded(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
