// Package demo fills a store with something worth looking at: session trees in
// which several actors branch, and executions of two charts in every stage of a
// life, each with the history of its own commits.
//
// It writes through the two contracts only. The same seed and the same clock give
// the same ids and the same contents.
package demo
