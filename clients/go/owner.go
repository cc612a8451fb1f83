package fairlock

import (
	"crypto/rand"
	"fmt"
	"os"
)

// makeOwner names one execution: the host, the process and a random part.
func makeOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err) // The system has no random numbers.
	}
	return fmt.Sprintf("%s:%d:%x", host, os.Getpid(), random)
}
