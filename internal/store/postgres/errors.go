package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// translate gives a driver's error the store's meaning and keeps it in the chain.
func translate(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if lostConnection(err) {
			return fmt.Errorf("%w: %w", store.ErrUnreachable, err)
		}
		return err
	}
	switch {
	case e.Code == "23505":
		return fmt.Errorf("%w: %w", store.ErrUnique, err)
	case e.Code == "23503":
		return fmt.Errorf("%w: %w", store.ErrForeignKey, err)
	case e.Code == "53100":
		return fmt.Errorf("%w: free some space on the database server and try again: %w", store.ErrFull, err)
	case e.Code == "XX001", e.Code == "XX002":
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	case e.Code == "22021", e.Code == "22P05":
		return fault.Wrap(err, fault.ValidationFailed, "Text must be valid UTF-8 without the character U+0000")
	case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57P"), e.Code == "53300":
		return fmt.Errorf("%w: %w", store.ErrUnreachable, err)
	}
	return err
}

// lostConnection tells whether err speaks of the connection and not of a statement.
func lostConnection(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)
}

// conflicted tells whether the transaction lost against another one and may win when it runs again: a serialization
// failure, a deadlock, or a plan that another process's migration has made stale.
func conflicted(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch e.Code {
	case "40001", "40P01":
		return true
	case "0A000":
		return strings.Contains(e.Message, "cached plan must not change result type")
	}
	return false
}
