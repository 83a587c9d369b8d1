//go:build race

package storetest

// underRace shrinks the cases that are about size: a pure-Go SQLite is 30 to 50
// times slower under the race detector.
const underRace = true
