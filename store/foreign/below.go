package foreign

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// outputs is a folder in which Claude Code keeps what tools have said, which may look
// like a session.
const outputs = "tool-results"

// FilesBelow finds the files below a folder whose names end so. The folder may be a
// link. In it links to files are followed, unless to one that is found anyway; links to
// folders are not: what they lead to is elsewhere.
func FilesBelow(dir string, suffixes ...string) func(context.Context) ([]string, error) {
	named := dir
	wanted := func(path string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
	}
	return func(ctx context.Context) (found []string, err error) {
		dir, err := filepath.EvalSymlinks(named)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && path == dir:
				return err
			case err != nil:
				found = append(found, path) // a folder that cannot be read hides no other, and is told
			case e.IsDir() && e.Name() == outputs && path != dir:
				return filepath.SkipDir
			case !wanted(path):
			case e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0 && leadsOut(dir, path):
				found = append(found, path)
			}
			return nil
		})
		return found, err
	}
}

// leadsOut reports whether a link leads to a file that is not below a folder, or
// nowhere.
func leadsOut(dir, link string) bool {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return true
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return false
	}
	way, err := filepath.Rel(dir, to)
	return err != nil || !filepath.IsLocal(way)
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
