// Package term is the edge between the program and the terminal: what may
// reach a screen, how wide it is, and the few sequences that are sent on
// purpose.
//
// Everything that was not written in this program's own source (names, ids,
// JSON, error texts, file names) becomes a [Text] before a view can draw it. A
// Text holds one line in which nothing moves the cursor, changes a mode or
// reorders its neighbours, and whose width is the same under both rules that
// terminals count by. What cannot be shown as it is becomes a visible mark:
//
//	␛ ␀ ␡ ␊ ␉     C0 controls and DEL, as their control pictures
//	«U+202E»      C1 controls, bidi and other format characters, zero-width
//	              and invisible characters, line separators, noncharacters,
//	              and characters whose width the two rules count differently
//	«tag gbsct»   a run of tag characters, spelled in ASCII
//	\xFF          a byte that is not UTF-8
//	◌             the base given to a combining mark that has none
//	…             combining marks past the fourth on one character
//	‿             a join that is not made (emoji joined by ZWJ, conjuncts)
//
// An emoji or text variation selector right after an emoji is dropped: it asks
// for a style, and the two rules disagree on its width.
//
// This package is the only one that imports github.com/charmbracelet/x/ansi.
package term
