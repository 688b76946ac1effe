package store

// Filling says what a database is to be filled with.
type Filling struct {
	// Schema is the version of the schema that the rows are of, and Epoch the last epoch of the database they came from.
	Schema, Epoch int64
	// Fill puts the rows in. It runs once, in one transaction: when it fails, the database stays empty.
	Fill func(Loader) error
}

// Loader puts rows into an empty database. It is valid inside Filling.Fill.
type Loader interface {
	// Load adds rows to a table. The values of a row are in the order of the columns: nil, int64, float64, string or []byte.
	// A table or column that the schema does not have is an error.
	Load(table string, columns []string, rows [][]any) error
}
