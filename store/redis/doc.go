// Package redis keeps both contracts in a Redis server: executions under the keys
// that harel uses, so that a running fleet can be watched and acted upon, and session
// trees under keys of its own.
//
// Every commit is one script, so that it is there whole or not at all, and its
// compare-and-swap is decided on the content of the execution's key alone, as harel's
// own two ways of writing are: the three may race. Nothing has a Redis expiry: what
// has expired is decided by the stored time and the server's clock, and exists until
// it is deleted.
//
// Lists of executions come from an index in memory that one SCAN fills with ids and
// nothing else; see [DB.Progress].
package redis
