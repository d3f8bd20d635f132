package main

import (
	"syscall"
	"time"
)

// sleepUntil sleeps in the kernel: the runtime's own timers are only as fine as a millisecond when nothing else runs.
func sleepUntil(due time.Time) {
	for {
		rest := time.Until(due)
		if rest <= 0 {
			return
		}
		interval := syscall.NsecToTimespec(rest.Nanoseconds())
		_ = syscall.Nanosleep(&interval, nil)
	}
}
