// Package ui is the explorer: a Bubble Tea program over the stores that a
// locator led to.
//
// One [Model] owns the state; the six panes are structs with methods that it
// calls. Nothing is read or written on the program's goroutine: every read is a
// command whose answer carries the generation of its request, and an answer to a
// request that was overtaken is dropped. Everything that is selected, folded or
// scrolled is kept by id, so that rows may come and go around it.
//
// Keys are data: the table in intents.go is what binds them, what the footer and
// the help show, and what says why one cannot be used now.
package ui
