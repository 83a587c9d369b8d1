package sqlite

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"
)

// CountSets returns all execution sets of the database as of its opening, counted
// now. See [Layout.Count] for what that costs.
func (db *DB) CountSets(ctx context.Context) ([]Set, error) {
	counted := Layout{Sets: slices.Clone(db.layout.Sets)}
	err := db.file.Read(ctx, func(conn *sqlite.Conn) error { return counted.Count(conn) })
	return counted.Sets, err
}
