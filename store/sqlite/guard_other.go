//go:build !(darwin || freebsd || linux || netbsd || openbsd)

package sqlite

import "os"

const openNonblock = 0

// holdsLogs: an open -wal could not be deleted by its last writer.
const holdsLogs = false

// shareLock is not available here: an open that meets the last writer closing in
// the same instant may leave an empty -wal behind, which harms nobody.
func shareLock(*os.File) (held bool, err error) { return false, nil }

func lockedByOther(error) bool { return false }

func shareUnlock(*os.File) error { return nil }

// sharedByOthers cannot be told here: there may be somebody.
func sharedByOthers(*os.File) (bool, error) { return true, nil }

func hardLinks(os.FileInfo) uint64 { return 1 }

func inode(os.FileInfo) uint64 { return 0 }
