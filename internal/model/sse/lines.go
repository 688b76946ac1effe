package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// bufferSize is the read buffer of one stream. Streams are many and mostly idle, so it is small.
const bufferSize = 4 << 10

var byteOrderMark = []byte("\xef\xbb\xbf")

// lineReader splits a stream at LF, CRLF or CR and bounds the length of a line.
type lineReader struct {
	in  *bufio.Reader
	max int
	// line is reused from one line to the next.
	line []byte
	// skipLF says that the last line ended with CR, so that an LF that follows belongs to it. Waiting for that byte
	// instead would delay the line until the server sends more.
	skipLF bool
	first  bool
}

func newLineReader(r io.Reader, limit int) *lineReader {
	if limit <= 0 {
		limit = DefaultMax
	}
	return &lineReader{in: bufio.NewReaderSize(r, bufferSize), max: limit, first: true}
}

// next returns the next line without its end, valid until the next call. A last line without an end is returned before
// io.EOF; a read error loses the partial line, which nobody can trust.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		done, err := l.fill()
		if len(l.line) > l.max {
			return nil, ErrTooLong
		}
		switch {
		case done:
			return l.trimmed(), nil
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return l.trimmed(), nil
		case err != nil:
			return nil, err
		}
	}
}

// fill moves what is buffered, up to the end of the line, into line; done tells whether the end was there.
func (l *lineReader) fill() (done bool, err error) {
	if _, err := l.in.Peek(1); err != nil {
		return false, err
	}
	buffered, err := l.in.Peek(l.in.Buffered())
	if err != nil {
		return false, err
	}
	if l.skipLF {
		l.skipLF = false
		if buffered[0] == '\n' {
			_, err := l.in.Discard(1)
			return false, err
		}
	}
	end := bytes.IndexAny(buffered, "\r\n")
	if end < 0 {
		l.line = append(l.line, buffered...)
		_, err := l.in.Discard(len(buffered))
		return false, err
	}
	l.skipLF = buffered[end] == '\r'
	l.line = append(l.line, buffered[:end]...)
	_, err = l.in.Discard(end + 1)
	return true, err
}

// trimmed is the current line, without the byte order mark that may open a stream.
func (l *lineReader) trimmed() []byte {
	if !l.first {
		return l.line
	}
	l.first = false
	return bytes.TrimPrefix(l.line, byteOrderMark)
}
