package client

import (
	"bufio"
	"io"
)

// Routes are method and path of every action that a token can carry out, for the test that compares them with the server's.
func Routes() map[string]string {
	out := map[string]string{}
	for name, r := range routes() {
		out[name] = r.method + " " + r.path
	}
	return out
}

// ReadEvents splits a stream into events, for the fuzz test: their names and data, and the error that ended it.
func ReadEvents(r io.Reader, limit int64) (names, data []string, err error) {
	in := &eventReader{lines: bufio.NewReader(r), limit: limit, alive: func() {}}
	for {
		e, err := in.next()
		if err != nil {
			return names, data, err
		}
		names, data = append(names, e.name), append(data, string(e.data))
	}
}
