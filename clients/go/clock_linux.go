package fairlock

import (
	"syscall"
	"time"
	"unsafe"
)

// Unlike CLOCK_MONOTONIC, which time.Now reads, this clock also runs while the machine sleeps, as
// the server's clock does.
const clockBoottime = 7

// now is the monotonic time.
func now() time.Duration {
	var t syscall.Timespec
	_, _, failure := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime,
		uintptr(unsafe.Pointer(&t)), 0)
	if failure != 0 {
		panic(failure) // Linux has had this clock since 2.6.39.
	}
	return time.Duration(t.Nano())
}
