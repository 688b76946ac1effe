package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// The class of Loam's two-number advisory locks; the second number is an epoch, or 0 for the lock of migrations. Locks of
// keys use one number of 64 bits, which PostgreSQL keeps apart.
const lockClass = 0x4c6f616d

// A node's connection is tested at this pace when nothing else is heard of it.
const nodeProbe = 10 * time.Second

// While the server is away, a node tries to reach it at least this often.
const longestNodePause = 5 * time.Second

// node holds the advisory lock that tells other processes that this one lives. The server frees it when the connection
// ends; the keeper then takes it again on a new one, since the process lives on. Work that others have taken over
// meanwhile is fenced by its lease.
type node struct {
	config *pgx.ConnConfig
	epoch  int64
	logger *slog.Logger
	cancel context.CancelFunc
	ended  chan struct{}
}

// startNode takes the lock and returns when it is held.
func startNode(ctx context.Context, config *pgx.ConnConfig, epoch int64, logger *slog.Logger) (*node, error) {
	n := &node{config: config.Copy(), epoch: epoch, logger: logger, ended: make(chan struct{})}
	// A server that does not hear of us for half a minute gives the lock away.
	for name, value := range map[string]string{"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "4", "idle_session_timeout": "0"} {
		n.config.RuntimeParams[name] = value
	}
	conn, err := n.take(ctx)
	if err != nil {
		return nil, err
	}
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	go n.keep(keeping, conn)
	return n, nil
}

func (n *node) take(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, n.config)
	if err != nil {
		return nil, translate(err)
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", int32(lockClass), int32(n.epoch)); err != nil {
		conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("take the lock of this process: %w", translate(err))
	}
	return conn, nil
}

// keep listens on the connection, which is how the end of it is noticed at once, and takes the lock again when it is gone.
func (n *node) keep(ctx context.Context, conn *pgx.Conn) {
	defer close(n.ended)
	for ctx.Err() == nil {
		if n.watch(ctx, conn) {
			continue
		}
		conn.Close(context.WithoutCancel(ctx))
		if ctx.Err() != nil {
			return
		}
		n.logger.Warn("the connection that holds this process's lock was lost; taking the lock again", "epoch", n.epoch)
		if conn = n.takeAgain(ctx); conn == nil {
			return
		}
	}
	conn.Close(context.WithoutCancel(ctx))
}

// watch returns whether the connection is good for another round.
func (n *node) watch(ctx context.Context, conn *pgx.Conn) bool {
	round, cancel := context.WithTimeout(ctx, nodeProbe)
	_, err := conn.WaitForNotification(round)
	quiet := round.Err() != nil
	cancel()
	if err == nil {
		return true
	}
	if !quiet || ctx.Err() != nil {
		return false
	}
	probe, cancel := context.WithTimeout(ctx, nodeProbe)
	defer cancel()
	return conn.Ping(probe) == nil
}

// takeAgain tries until it holds the lock or ctx ends, and then returns nil.
func (n *node) takeAgain(ctx context.Context) *pgx.Conn {
	for attempt := 0; ; attempt++ {
		conn, err := n.take(ctx)
		if err == nil {
			return conn
		}
		if pause(ctx, attempt, longestNodePause) != nil {
			return nil
		}
	}
}

// stop frees the lock and waits for the keeper.
func (n *node) stop() {
	n.cancel()
	<-n.ended
}
