package sqlite

import (
	"container/list"
	"database/sql/driver"
	"errors"
)

// statement is a prepared statement of the driver.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statementCache keeps the prepared statements of one connection by their text, the most recently used ones. A statement
// is out of the cache while it runs. A limit of zero keeps none.
type statementCache struct {
	limit  int
	byText map[string]*list.Element
	recent *list.List
}

type cached struct {
	query string
	stmt  statement
}

func newStatementCache(limit int) *statementCache {
	return &statementCache{limit: limit, byText: map[string]*list.Element{}, recent: list.New()}
}

// take removes and returns the statement of a text, or nil.
func (s *statementCache) take(query string) statement {
	e, ok := s.byText[query]
	if !ok {
		return nil
	}
	delete(s.byText, query)
	return s.recent.Remove(e).(cached).stmt
}

// put keeps a statement that is idle and closes the one that was not used for longest when there are too many. An error
// of closing is not one of the statement that ran: SQLite repeats there what the last step reported.
func (s *statementCache) put(query string, stmt statement) {
	if _, twice := s.byText[query]; twice || s.limit == 0 {
		_ = stmt.Close()
		return
	}
	s.byText[query] = s.recent.PushFront(cached{query, stmt})
	if s.recent.Len() <= s.limit {
		return
	}
	oldest := s.recent.Remove(s.recent.Back()).(cached)
	delete(s.byText, oldest.query)
	_ = oldest.stmt.Close()
}

// close closes every idle statement.
func (s *statementCache) close() error {
	var errs []error
	for e := s.recent.Front(); e != nil; e = e.Next() {
		errs = append(errs, e.Value.(cached).stmt.Close())
	}
	s.recent.Init()
	clear(s.byText)
	return errors.Join(errs...)
}
