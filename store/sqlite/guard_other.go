//go:build !(darwin || freebsd || linux || netbsd || openbsd)

package sqlite

import "os"

const openNonblock = 0

// shareLock is not available here: an open that meets the last writer closing in
// the same instant may leave an empty -wal behind, which harms nobody.
func shareLock(*os.File) (held bool, err error) { return false, nil }

func lockedByOther(error) bool { return false }

func shareUnlock(*os.File) error { return nil }
