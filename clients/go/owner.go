package fairlock

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"sync"
)

var process = func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + strconv.Itoa(os.Getpid()) + ":"
}()

const (
	randomSize = 8
	// Many owners share one request to the system.
	randomOwners = 64
)

var random struct {
	mu    sync.Mutex
	bytes [randomOwners * randomSize]byte
	left  int
}

// makeOwner names one execution: the host, the process and a random part.
func makeOwner() string {
	var owner [128]byte
	made := append(owner[:0], process...)
	random.mu.Lock()
	defer random.mu.Unlock()
	if random.left == 0 {
		if _, err := rand.Read(random.bytes[:]); err != nil {
			panic(err) // The system has no random numbers.
		}
		random.left = len(random.bytes)
	}
	random.left -= randomSize
	var text [2 * randomSize]byte
	hex.Encode(text[:], random.bytes[random.left:random.left+randomSize])
	return string(append(made, text[:]...))
}
