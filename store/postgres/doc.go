// Package postgres keeps executions and session trees in PostgreSQL, by pgx.
//
// Executions are on harel's own tables, made by harel or by this package; trees are on
// tables of our own. JSON is parsed here and never by the server, so that no row can
// break a list. A commit is one statement, in which every further write selects from
// the compare-and-swap: when that is lost nothing else happens.
package postgres
