package fairlock

import (
	"crypto/rand"
	"fmt"
	"os"
)

var process = func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}()

// makeOwner names one execution: the host, the process and a random part.
func makeOwner() string {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err) // The system has no random numbers.
	}
	return fmt.Sprintf("%s:%x", process, random)
}
