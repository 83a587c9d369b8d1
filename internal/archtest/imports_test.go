package archtest

import (
	"slices"
	"strings"
	"testing"
)

// backends are the packages behind a locator. Only the locator's package and
// tests know them.
var backends = []string{"store/memory", "store/sqlite", "store/postgres", "store/redis", "store/rqlite"}

// row says which packages of this module the non-test files below a directory
// may import. A package may always import what lies below itself.
type row struct {
	dir string
	// may are directories that may be imported, without what is below them.
	may []string
	// but turns the row around: everything of this module may be imported
	// except what is at or below these directories.
	but []string
}

// table has one row for every package. The longest matching directory counts.
// Rows for packages that do not exist are harmless.
var table = []row{
	{dir: ".", may: []string{"internal/cli"}},
	{dir: "internal/archtest"},
	{dir: "internal/testfiles"},
	{dir: "internal/term"},
	{dir: "internal/cli", but: backends},
	{dir: "internal/demo", but: append([]string{"internal/cli", "ui", "treeview"}, backends...)},
	{dir: "store"},
	{dir: "store/storetest", may: []string{"store"}},
	{dir: "store/check", may: []string{"store"}},
	{dir: "store/internal/sqltree", may: []string{"store"}},
	{dir: "store/internal/sqltransport", may: []string{"store"}},
	{dir: "store/memory", may: []string{"store", "store/internal/sqltree"}},
	{dir: "store/sqlite", may: []string{"store", "store/internal/sqltree", "store/internal/sqltransport"}},
	{dir: "store/postgres", may: []string{"store"}},
	{dir: "store/redis", may: []string{"store"}},
	{dir: "store/rqlite", may: []string{"store", "store/internal/sqltransport"}},
	{dir: "store/foreign", may: []string{"store", "store/foreign"}},
	{dir: "store/locate", but: []string{"internal", "ui", "treeview", "tracefeed", "store/storetest", "store/relay", "store/session", "store/query"}},
	{dir: "store/relay", may: []string{"store"}},
	{dir: "store/session", may: []string{"store"}},
	{dir: "store/jsondiff", may: []string{"store"}},
	{dir: "store/query", may: []string{"store"}},
	{dir: "treeview", may: []string{"store", "internal/term"}},
	{dir: "tracefeed", may: []string{"store", "store/jsondiff"}},
	{dir: "ui", may: []string{"store", "store/locate", "store/session", "store/relay", "store/jsondiff", "store/query", "treeview", "treeview/export", "tracefeed", "internal/term"}},
	{dir: "bench", but: []string{"internal", "ui"}},
}

// rowOf returns the row for a package. The one for the root covers no other.
func rowOf(pkg string) (row, bool) {
	best, found := row{}, false
	for _, r := range table {
		if (pkg == r.dir || r.dir != "." && r.dir != "store" && within(pkg, r.dir)) && len(r.dir) >= len(best.dir) {
			best, found = r, true
		}
	}
	return best, found
}

// allows reports whether a package under the row may import dir.
func (r row) allows(dir string) bool {
	if r.dir != "." && r.dir != "store" && within(dir, r.dir) {
		return true
	}
	if r.but != nil {
		return !withinAny(dir, r.but...)
	}
	return slices.Contains(r.may, dir)
}

func TestImportsOfOurOwn(t *testing.T) {
	missing := map[string]bool{}
	for _, f := range sources(t) {
		if f.test() {
			continue
		}
		r, ok := rowOf(f.pkg)
		if !ok {
			if !missing[f.pkg] {
				t.Errorf("package %s has no row in the import table: decide what it may import", f.pkg)
			}
			missing[f.pkg] = true
			continue
		}
		for _, imported := range f.imports {
			if dir, ok := ours(imported); ok && !r.allows(dir) {
				t.Errorf("%s imports %s: packages of %s may not", f.path, imported, r.dir)
			}
		}
	}
}

// Only main.go is at the root, and it only starts the commands.
func TestRootStartsTheCommands(t *testing.T) {
	for _, f := range sources(t) {
		if f.pkg != "." || f.test() {
			continue
		}
		if f.base() != "main.go" {
			t.Errorf("%s: the root holds main.go only", f.path)
		}
		for _, imported := range f.imports {
			if imported != module+"/internal/cli" && strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				t.Errorf("%s imports %s: it should start internal/cli and nothing else", f.path, imported)
			}
		}
	}
}

func TestImportsOfOthers(t *testing.T) {
	drivers := []string{"modernc.org", "zombiezen.com/go/sqlite", "github.com/jackc/pgx", "github.com/redis", "database/sql"}
	screen := []string{"charm.land"}
	for _, f := range sources(t) {
		for _, imported := range f.imports {
			switch {
			case withinAny(imported, "github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/lipgloss"):
				t.Errorf("%s imports %s: the module moved to charm.land", f.path, imported)
			case f.test():
			case within(imported, "github.com/charmbracelet/x/ansi") && f.pkg != "internal/term":
				t.Errorf("%s imports %s: internal/term is the edge to the terminal", f.path, imported)
			case withinAny(imported, "charm.land/bubbletea", "charm.land/bubbles") && pureHalf(f):
				t.Errorf("%s imports %s: files of %s not named widget*.go are free of the event loop", f.path, imported, f.pkg)
			case withinAny(imported, screen...) && withinAny(f.pkg, "store", "internal/term", "internal/demo"):
				t.Errorf("%s imports %s: %s draws nothing", f.path, imported, f.pkg)
			case withinAny(imported, drivers...) && !withinAny(f.pkg, "store", "bench"), withinAny(imported, drivers...) && f.pkg == "store":
				t.Errorf("%s imports %s: drivers are the backends' business", f.path, imported)
			}
		}
	}
}

// pureHalf reports whether f belongs to the half of its package that does not
// know the event loop.
func pureHalf(f file) bool {
	return withinAny(f.pkg, "treeview", "tracefeed") && !strings.HasPrefix(f.base(), "widget")
}

func TestPackagesAreNamedAfterWhatTheyDo(t *testing.T) {
	for _, f := range sources(t) {
		name := strings.TrimSuffix(f.name, "_test")
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}, name) {
			t.Errorf("%s: a package named %s says nothing about what is in it", f.path, name)
		}
	}
}

// The rules themselves, on imports that do not exist.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		pkg, dir string
		want     bool
	}{
		{".", "internal/cli", true},
		{".", "store", false},
		{"store", "internal/term", false},
		{"store", "store/memory", false},
		{"store/sqlite", "store", true},
		{"store/sqlite", "store/internal/sqltree", true},
		{"store/sqlite", "store/sqlite/internal/wal", true},
		{"store/sqlite", "store/memory", false},
		{"store/redis", "store/internal/sqltree", false},
		{"store/foreign/claude", "store/foreign", true},
		{"store/locate", "store/redis", true},
		{"store/locate", "store/foreign/claude", true},
		{"store/locate", "ui", false},
		{"treeview", "store", true},
		{"treeview", "store/sqlite", false},
		{"tracefeed", "internal/term", false},
		{"ui", "store/locate", true},
		{"ui", "store/sqlite", false},
		{"ui/dialog", "ui/theme", true},
		{"ui/dialog", "treeview", true},
		{"internal/cli", "ui", true},
		{"internal/cli", "store/postgres", false},
		{"internal/demo", "store/locate", true},
		{"internal/demo", "store/memory", false},
	} {
		r, ok := rowOf(c.pkg)
		if !ok {
			t.Errorf("%s has no row", c.pkg)
			continue
		}
		if got := r.allows(c.dir); got != c.want {
			t.Errorf("may %s import %s? %v, want %v", c.pkg, c.dir, got, c.want)
		}
	}
	for _, pkg := range []string{"store/other", "internal/other", "other"} {
		if r, ok := rowOf(pkg); ok {
			t.Errorf("%s falls under the row of %s, want none", pkg, r.dir)
		}
	}
}
