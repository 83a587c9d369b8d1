// Package treeview holds a tree of any size and draws the part of it that a
// screen can show.
//
// An [Index] is built from pages of nodes in any order and never fails: children
// may come before their parents, parents may be missing, several roots and
// cycles are kept and told apart. A [Flat] is the index unrolled into rows under
// a set of folds; a [Widget] keeps a cursor and a scroll position on it that stay
// on their nodes while the tree grows.
//
// Nothing here recurses: a chain of a million nodes is an ordinary tree. A node
// costs some 60 bytes and its own texts, a row 16; only the rows on the screen
// are ever turned into text.
//
// Types of this package belong to one goroutine at a time.
package treeview
