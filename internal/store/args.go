package store

import (
	"database/sql/driver"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
)

// CheckArg turns a statement's argument into a value that both databases take alike, and is called by the drivers for
// every argument. The result is nil, int64, float64, string or []byte: integers of all sizes become int64, named types
// lose their name, and a bool becomes 0 or 1, since the schema has no booleans.
//
// Text must be UTF-8 without the character U+0000, which PostgreSQL cannot keep; other text is a fault.ValidationFailed
// on both databases, so that a person's odd input is never a server error. A time.Time is refused: times are epoch
// milliseconds.
func CheckArg(arg any) (driver.Value, error) {
	v, err := driver.DefaultParameterConverter.ConvertValue(arg)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 {
			return nil, fault.Invalid("Text must not contain the character U+0000")
		}
		if !utf8.ValidString(v) {
			return nil, fault.Invalid("Text must be valid UTF-8")
		}
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case time.Time:
		return nil, fault.New(fault.Internal, "times are stored as epoch milliseconds, not as time.Time")
	}
	return v, nil
}
