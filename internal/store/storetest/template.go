package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/store/postgres"
)

// template is a database with the schema of head that others are copied from. Processes that test on one server share it;
// its name changes with the schema.
type template struct {
	name string
	hash string
	// shape describes every table, column and index.
	shape string
}

// prefix begins the names of the databases that are copies of the template.
func (h template) prefix() string { return "loam_test_" + h.hash + "_" }

func makeTemplate(a *admin) (template, error) {
	all, err := migrations.Embedded(store.Postgres)
	if err != nil {
		return template{}, err
	}
	sum := sha256.New()
	for _, m := range all {
		sum.Write([]byte(m.SQL))
	}
	hash := hex.EncodeToString(sum.Sum(nil)[:8])
	head := template{name: "loam_head_" + hash, hash: hash}
	ctx := context.Background()
	err = a.do(ctx, func(c *pgx.Conn) error {
		// One process makes the template.
		if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", head.name); err != nil {
			return err
		}
		err := head.prepare(ctx, c, a.server)
		_, unlock := c.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", head.name)
		return errors.Join(err, unlock)
	})
	return head, err
}

// prepare makes the template unless it is there. Its description is kept as the comment of the database, because nobody
// may be connected to a template while it is copied.
func (h *template) prepare(ctx context.Context, c *pgx.Conn, server string) error {
	row := c.QueryRow(ctx, "SELECT coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE datname = $1 AND datistemplate", h.name)
	if err := row.Scan(&h.shape); !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	for _, text := range []string{"DROP DATABASE IF EXISTS " + h.name, "CREATE DATABASE " + h.name + " TEMPLATE template0"} {
		if _, err := c.Exec(ctx, text); err != nil {
			return err
		}
	}
	if err := h.migrate(ctx, server); err != nil {
		return err
	}
	_, err := c.Exec(ctx, "COMMENT ON DATABASE "+h.name+" IS '"+h.shape+"'; ALTER DATABASE "+h.name+" IS_TEMPLATE true")
	return err
}

func (h *template) migrate(ctx context.Context, server string) error {
	s, err := postgres.Open(ctx, postgres.Options{URL: on(server, h.name)})
	if err != nil {
		return err
	}
	err = s.Read(ctx, func(tx store.Tx) error { return tx.QueryRow(describe).Scan(&h.shape) })
	return errors.Join(err, s.Close())
}

// describe makes a hash of what a test could have changed in the schema.
const describe = `SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
	SELECT c.relkind::text || ' ' || c.relname || ' ' || coalesce(a.attname, '') || ' ' || coalesce(a.atttypid::text, '') || coalesce(a.attnotnull::text, '') AS line
	FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i', 'S', 'v')
	UNION ALL
	SELECT 'version ' || version || ' ' || min_compatible FROM schema_state) lines`

// The suite of the drivers makes tables of its own, nearly fifty times.
const dropSuite = `DROP TABLE IF EXISTS details, items`

// Deleting beats TRUNCATE for tables of a few rows, and this role of replication leaves references unchecked.
const deleteAll = `DO $$ DECLARE t text; BEGIN
	SET LOCAL session_replication_role = replica;
	FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_state' LOOP
		EXECUTE format('DELETE FROM %I', t);
	END LOOP;
END $$`

const disconnectOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

// empty ends other connections to the database and deletes every row. It fails when the schema is not that of head.
func (h template) empty(ctx context.Context, d *database) error {
	for _, text := range []string{disconnectOthers, dropSuite} {
		if _, err := d.conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	var shape string
	if err := d.conn.QueryRow(ctx, describe).Scan(&shape); err != nil {
		return err
	}
	if shape != h.shape {
		return fmt.Errorf("the test changed the schema of %s", d.name)
	}
	_, err := d.conn.Exec(ctx, deleteAll)
	return err
}
