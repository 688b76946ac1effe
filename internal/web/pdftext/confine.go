package pdftext

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// confine holds the process to its limits: the kernel refuses memory, and ends it when its time is used up.
func confine() error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA: MaxMemory, unix.RLIMIT_CPU: uint64(MaxTime / time.Second), unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	return nil
}
