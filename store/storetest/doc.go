// Package storetest proves that a backend keeps the two contracts. A backend's
// test gives the suite a factory of stores and its flags; each rule is one case
// with a store of its own and an explanation that is printed when the case fails.
//
// The rules are those of the contracts and, where these leave something open,
// those that all backends of this module share. The suites look at a store
// through its interface only.
package storetest
