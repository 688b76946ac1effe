package store

// Place is a row of a list that is ordered by a time and an id, newest first: the list goes on after it.
type Place struct {
	// At is epoch milliseconds.
	At int64  `json:"at"`
	ID string `json:"id"`
}

// Page asks for a part of such a list. The zero value is all of it.
type Page struct {
	// After is the last row of the page before; nil for the first page.
	After *Place
	// Limit is how many rows at most; zero is all.
	Limit int64
}

// Clause is what a query of such a list ends with, from the condition that goes on after its own with AND, and its arguments. at
// and id are the columns of the order. It asks for one row more than the page holds, which CutPage takes away.
func (p Page) Clause(at, id string) (sql string, args []any) {
	if p.After != nil {
		sql, args = " AND ("+at+", "+id+") < (?, ?)", append(args, p.After.At, p.After.ID)
	}
	sql += " ORDER BY " + at + " DESC, " + id + " DESC"
	if p.Limit > 0 {
		sql, args = sql+" LIMIT ?", append(args, p.Limit+1)
	}
	return sql, args
}

// CutPage takes away the row that a query with Clause has found beyond the page, and tells whether there is one.
func CutPage[T any](p Page, rows []T) (page []T, more bool) {
	if p.Limit > 0 && int64(len(rows)) > p.Limit {
		return rows[:p.Limit], true
	}
	return rows, false
}
