// Package tracefeed follows a store and accounts for what it shows: which steps
// a trace ring still holds and which it dropped, how long each took, what each
// changed in the context, and whether the store is still being followed at all.
//
// It never says that nothing was there where something was lost: a ring says how
// many steps it dropped, a step whose predecessor is gone says so instead of
// showing its whole context as new, and a follower that cannot read its store
// says since when.
//
// [Poll] tells that something changed, [Feed] what; [Account] is the part of it that
// settles the indexes of one trace, free of any store.
package tracefeed
