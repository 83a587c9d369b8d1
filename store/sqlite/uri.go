package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"treering/store"
)

// resolve returns the absolute path of the file behind path with every symbolic
// link followed: the -wal, -shm and -journal lie beside that file, not beside the
// link. Nothing is cleaned before the links are followed, because a/link/../b is
// not a/b.
func resolve(path string) (string, error) {
	if path == "" {
		return "", &OpenError{path, "the path is empty", "name a file", store.ErrStoreNotFound}
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		// Some reparse points and network drives of Windows cannot be followed
		// but can be opened.
		if _, serr := os.Stat(path); serr == nil {
			target, err = path, nil
		}
	}
	if err != nil {
		if _, lerr := os.Lstat(path); lerr == nil && errors.Is(err, fs.ErrNotExist) {
			return "", &OpenError{path, "it is a symbolic link to a file that does not exist", "mend the link or name the file", both(store.ErrStoreNotFound, err)}
		}
		return "", systemError(path, "it", err)
	}
	abs, err := filepath.Abs(target)
	if err != nil {
		return "", systemError(path, "the working directory", err)
	}
	return abs, nil
}

// absolute makes a path independent of the working directory. It is not cleaned:
// see resolve.
func absolute(path string) (string, error) {
	if path == "" || filepath.IsAbs(path) {
		return path, nil
	}
	if runtime.GOOS == "windows" {
		return filepath.Abs(path) // C:x and \x are relative too, each in its own way
	}
	wd, err := os.Getwd()
	return wd + "/" + path, err
}

// fileURI writes an absolute path as a file: URI for SQLite, followed by the query.
// Every byte that could mean something in a URI is escaped; the bytes of a path
// need not be UTF-8.
func fileURI(target, query string) string {
	if runtime.GOOS == "windows" {
		target = filepath.ToSlash(target)
		if !strings.HasPrefix(target, "/") {
			target = "/" + target // /C:/dir: SQLite takes the slash off again
		}
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("file:")
	if strings.HasPrefix(target, "//") {
		b.WriteString("//") // an empty authority: what follows is a path even if it begins with two slashes
	}
	for i := 0; i < len(target); i++ {
		switch c := target[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '/', c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	b.WriteByte('?')
	b.WriteString(query)
	return b.String()
}
