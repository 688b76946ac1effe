package server

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// crashPoint returns a hook that kills this process at "name" or, with "name:n", when that point is reached the n-th time. It
// is how crash tests stop a real server where it hurts; an empty setting does nothing.
func crashPoint(setting string) func(string) {
	if setting == "" {
		return func(string) {}
	}
	name, count, found := strings.Cut(setting, ":")
	at := int64(1)
	if found {
		if n, err := strconv.ParseInt(count, 10, 64); err == nil {
			at = n
		}
	}
	var seen atomic.Int64
	return func(point string) {
		if point == name && seen.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
