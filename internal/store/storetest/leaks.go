package storetest

import "go.uber.org/goleak"

// Leaks are the goroutines that are no leak of a test: when a write to PostgreSQL takes longer than some milliseconds, as on a busy
// machine, its driver begins to read beside it, and goes on until the server has closed the connection.
func Leaks() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead")
}
