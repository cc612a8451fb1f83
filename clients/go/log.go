package fairlock

import (
	"log"
	"os"
	"sync/atomic"
)

var logger atomic.Pointer[log.Logger]

func init() { SetLogger(log.New(os.Stderr, "fairlock: ", log.LstdFlags)) }

// SetLogger sets where warnings are written. The default is standard error.
func SetLogger(to *log.Logger) { logger.Store(to) }

func warn(format string, values ...interface{}) { logger.Load().Printf(format, values...) }
