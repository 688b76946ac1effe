package bounded

import "io"

// Reader yields what r does, and fails with what over returns instead of yielding more than most bytes. Unlike io.LimitReader it does not let
// the beginning of something too large pass for all of it.
func Reader(r io.Reader, most int64, over func() error) io.Reader {
	return &reader{from: r, left: most, over: over}
}

type reader struct {
	from io.Reader
	left int64
	over func() error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, r.over()
	}
	return n, err
}
