package archtest

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "treering"

// file is one Go file of the repository.
type file struct {
	path    string // slash-separated, relative to the root
	pkg     string // its directory relative to the root, "." for the root
	name    string // in its package clause
	imports []string
}

// test reports whether the file is compiled for tests only.
func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// base returns the file's own name.
func (f file) base() string { return path.Base(f.path) }

// root returns the directory of the module's go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = parent
	}
}

// sources parses the imports of every Go file of the module, those for other
// systems too.
func sources(t *testing.T) []file {
	t.Helper()
	top := root(t)
	var files []file
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && skipped(name, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), ".go") || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
			return nil
		}
		f, err := parse(name, filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no Go files below %s", top)
	}
	return files
}

// skipped reports whether the go command leaves the directory out: hidden ones,
// test data, other modules.
func skipped(dir, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func parse(name, rel string) (file, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	f := file{path: rel, pkg: path.Dir(rel), name: tree.Name.Name}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// ours returns the directory of an imported package of this module.
func ours(imported string) (dir string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// within reports whether p is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// withinAny reports whether p is one of dirs or lies below one.
func withinAny(p string, dirs ...string) bool {
	for _, dir := range dirs {
		if within(p, dir) {
			return true
		}
	}
	return false
}
