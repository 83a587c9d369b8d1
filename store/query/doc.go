// Package query is the filter language of lists and trees: one parser for the
// filter bar, for --filter and for saved views.
//
// [Parse] reads a text for one [Subject], [Query.Bind] makes a [Matcher] of it,
// and that decides on rows. A mistake is an *[Error] that knows where it is. What
// a store can pre-select is in [Query.Pushdown], what completes a text in
// [Complete]; [Run] puts many rows through a matcher on all processors.
//
// The package reads no store and draws nothing. Nothing in it is foreign text
// made safe: sanitise titles, ids and the query itself before they are shown.
package query
