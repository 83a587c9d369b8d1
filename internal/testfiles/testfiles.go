// Package testfiles holds files that several packages' tests read. Tests open
// copies, since opening a database may change it.
package testfiles

import (
	"embed"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata
var files embed.FS

// Copy copies the named file of this package's testdata into a fresh temporary
// directory, where it is alone, and returns the copy's path. The test fails if
// there is no such file.
func Copy(t testing.TB, name string) string {
	t.Helper()
	b := Read(t, name)
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of the named file. The test fails if there is no
// such file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := files.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
