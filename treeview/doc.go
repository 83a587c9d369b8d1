// Package treeview holds a tree of any size and draws the part of it that a
// screen can show.
//
// An [Index] is built from pages of nodes in any order and never fails: children
// may come before their parents, parents may be missing, several roots, cycles and
// entries that contradict each other are kept and told apart. A [Flat] is the
// index unrolled into rows: under folds, with long straight runs as one row each,
// with what a filter leaves out elided, and the branch of an active node first. A
// [Widget] keeps a cursor, marks and a scroll position on it that stay on their
// nodes while the tree grows. [Compare] tells how two nodes of a tree relate.
//
// Nothing here recurses: a chain of a million nodes is an ordinary tree. A node
// costs some 60 bytes and its own texts, a row 20, and 12 more once ancestors were
// asked for; only the rows on the screen are ever turned into text. What changes
// the rows walks over the tree once, some ten milliseconds for a million nodes;
// moving does not.
//
// Types of this package belong to one goroutine at a time, but for [Texts], which
// a search may read while the tree grows.
package treeview
