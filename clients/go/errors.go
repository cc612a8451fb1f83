package fairlock

import "errors"

// The errors of this package, for errors.Is. Errors of the connection, of permissions and of limits
// of the server are those of go-redis.
var (
	// ErrDenied means that the lock was not granted: at once, or until the wait was over. The error
	// is a *DeniedError.
	ErrDenied = errors.New("fairlock: denied")
	// ErrLostHold means that the lock is not held any more, or not certainly.
	ErrLostHold = errors.New("fairlock: the hold is lost")
	// ErrWaitEnded means that CANCEL, CLIENT UNBLOCK or a newer request of this owner ended the
	// wait.
	ErrWaitEnded = errors.New("fairlock: another request ended the wait")
	// ErrDeadlock means that the wait would never end. The text names the owners that wait for each
	// other.
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
}

// Error describes the explanation in one line.
func (e *DeniedError) Error() string { return ErrDenied.Error() + ": " + e.Explanation.String() }

// Is lets errors.Is find ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
