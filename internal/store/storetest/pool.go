package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// admin is this process's connection to a test server and the databases that it has there: one connection for all tests,
// since a connection costs more than most of them. Its advisory locks say which databases are taken.
type admin struct {
	server   string
	template func() (template, error)

	mu   sync.Mutex
	conn *pgx.Conn
	free []*database
	mine map[string]bool
}

// database is a database with the schema of head, and the connection that empties it.
type database struct {
	name string
	conn *pgx.Conn
}

// The first number of the locks that mark a database as taken.
const takenClass = 0x7465_7374

// admins are the test servers that this process has seen, by URL.
var admins sync.Map

func adminOf(server string) *admin {
	a := &admin{server: server, mine: map[string]bool{}}
	a.template = sync.OnceValues(func() (template, error) { return makeTemplate(a) })
	known, _ := admins.LoadOrStore(server, a)
	return known.(*admin)
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the URL of the test server: %w", err)
	}
	delete(config.RuntimeParams, "loam_unsafe_durability")
	return pgx.ConnectConfig(ctx, config)
}

// do runs fn on the connection, one at a time.
func (a *admin) do(ctx context.Context, fn func(*pgx.Conn) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn == nil {
		c, err := connect(ctx, a.server)
		if err != nil {
			return err
		}
		a.conn = c
	}
	return fn(a.conn)
}

func (a *admin) exec(ctx context.Context, statement string) error {
	return a.do(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement)
		return err
	})
}

// acquire takes a free database of this process, or one that an ended process left, or makes one.
func (a *admin) acquire(ctx context.Context) (*database, error) {
	head, err := a.template()
	if err != nil {
		return nil, err
	}
	var d *database
	err = a.do(ctx, func(c *pgx.Conn) error {
		if n := len(a.free); n > 0 {
			d = a.free[n-1]
			a.free = a.free[:n-1]
			return nil
		}
		if d, err = a.adopt(ctx, c, head); d != nil || err != nil {
			return err
		}
		d, err = a.create(ctx, c, head)
		return err
	})
	return d, err
}

// adopt takes over a database whose process has ended.
func (a *admin) adopt(ctx context.Context, c *pgx.Conn, head template) (*database, error) {
	rows, err := c.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", head.prefix())
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if a.mine[name] {
			continue
		}
		var taken bool
		if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, hashtext($2))", takenClass, name).Scan(&taken); err != nil {
			return nil, err
		}
		if !taken {
			continue
		}
		a.mine[name] = true
		if d := a.inspect(ctx, head, name); d != nil {
			return d, nil
		}
		if err := a.drop(ctx, c, name); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// inspect empties a database, or returns nil when it cannot be used.
func (a *admin) inspect(ctx context.Context, head template, name string) *database {
	conn, err := connect(ctx, on(a.server, name))
	if err != nil {
		return nil
	}
	d := &database{name, conn}
	if head.empty(ctx, d) != nil {
		conn.Close(ctx)
		return nil
	}
	return d
}

func (a *admin) create(ctx context.Context, c *pgx.Conn, head template) (*database, error) {
	name := head.prefix() + randomName()
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1, hashtext($2))", takenClass, name); err != nil {
		return nil, err
	}
	a.mine[name] = true
	if _, err := c.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+head.name); err != nil {
		return nil, err
	}
	conn, err := connect(ctx, on(a.server, name))
	if err != nil {
		return nil, errors.Join(err, a.drop(ctx, c, name))
	}
	return &database{name, conn}, nil
}

// release empties a database for the next test, or drops it.
func (a *admin) release(ctx context.Context, d *database) error {
	head, err := a.template()
	if err != nil {
		return err
	}
	dirty := head.empty(ctx, d)
	return a.do(ctx, func(c *pgx.Conn) error {
		if dirty == nil {
			a.free = append(a.free, d)
			return nil
		}
		return errors.Join(d.conn.Close(ctx), a.drop(ctx, c, d.name))
	})
}

func (a *admin) drop(ctx context.Context, c *pgx.Conn, name string) error {
	if _, err := c.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	delete(a.mine, name)
	_, err := c.Exec(ctx, "SELECT pg_advisory_unlock($1, hashtext($2))", takenClass, name)
	return err
}

func randomName() string { return strings.ToLower(rand.Text()) }
