// Package sqlite reads and writes stores kept in SQLite files.
//
// A file is looked at before it is opened ([Probe]), and what was found decides
// how it is opened ([OpenFile]): reading a file that somebody else wrote leaves
// every byte and every name in its directory as it was, whether a writer is alive
// beside it, crashed, or gone.
//
// [Detect] tells by columns which execution sets and trees a database holds.
//
// [Open] does all of it and offers the stores of both contracts. Reads are short
// transactions of their own; writes go through one connection, where those that
// come together are committed together.
package sqlite
