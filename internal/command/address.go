package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// addressFile is where a running server leaves its address for the commands that want to reach it.
type addressFile string

// address is the content of an addressFile.
type address struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

const addressName = "server.json"

func (f addressFile) path() string { return filepath.Join(string(f), addressName) }

// write puts the address there whole: a reader sees the old file or the new one.
func (f addressFile) write(url string) (err error) {
	text, err := json.Marshal(address{URL: url, PID: os.Getpid()})
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(string(f), "."+addressName+"-*")
	if err != nil {
		return fmt.Errorf("write the address of the server: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the address of the server: %w", err)
	}
	return os.Rename(tmp.Name(), f.path())
}

// read returns the address of a server whose process still lives; ok is false when there is none.
func (f addressFile) read() (a address, ok bool) {
	text, err := os.ReadFile(f.path())
	if err != nil || json.Unmarshal(text, &a) != nil || a.URL == "" {
		return address{}, false
	}
	return a, alive(a.PID)
}

// alive tells whether a process exists. One that belongs to somebody else answers with a refusal.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// remove takes away the file of this process, not that of a server which has started since.
func (f addressFile) remove() error {
	a, _ := f.read()
	if a.PID != os.Getpid() {
		return nil
	}
	err := os.Remove(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// localURL is how this machine reaches a listening address.
func localURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}
