package fairlock

import (
	"io"
	"log"
	"os"
	"sync/atomic"
)

var logger atomic.Pointer[log.Logger]

func init() { SetLogger(log.New(os.Stderr, "fairlock: ", log.LstdFlags)) }

// SetLogger sets where warnings are written. The default is standard error; nil discards them.
func SetLogger(to *log.Logger) {
	if to == nil {
		to = log.New(io.Discard, "", 0)
	}
	logger.Store(to)
}

func warn(format string, values ...interface{}) { logger.Load().Printf(format, values...) }
