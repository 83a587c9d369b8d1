package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file under another name and renames it, so that a reader sees
// all of it or nothing. Without replace an existing one is left alone, and the error
// matches fs.ErrExist.
func WriteFile(path string, replace bool, write func(io.Writer) error) (err error) {
	if _, statErr := os.Lstat(path); statErr == nil && !replace {
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		// The name in the error is one that nobody has chosen.
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("write %s: no file can be made in %s: %w", path, filepath.Dir(path), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if replace {
		return os.Rename(f.Name(), path)
	}
	// A link fails where somebody else made the file meanwhile; not every file system
	// has links.
	switch err := os.Link(f.Name(), path); {
	case err == nil:
		return os.Remove(f.Name())
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	return os.Rename(f.Name(), path)
}
