// Package archtest holds the tests of the repository as a whole: who may import
// whom, and what no file may contain. It has no code of its own.
package archtest
