package sqlite

import (
	"os"
	"sync"
	"testing"

	"treering/internal/testfiles"
)

// Descriptors opened by hand are closed with the last holder, however many came at
// once and by whatever name.
func TestRegistry(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	other := path + " again"
	if err := os.Link(path, other); err != nil {
		other = path
	}
	var r registry
	var wg sync.WaitGroup
	held := make(chan *openFile, 100)
	for i := range 100 {
		wg.Go(func() {
			f, err := r.acquire([]string{path, other}[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			held <- f
		})
	}
	wg.Wait()
	close(held)
	if len(r.files) != 1 {
		t.Fatalf("%d files, want one", len(r.files))
	}
	f := r.files[0]
	fd := f.fd
	for h := range held {
		if h != f {
			t.Error("two entries for one file")
		}
		if _, err := fd.Stat(); err != nil {
			t.Errorf("closed while held: %v", err)
		}
		r.release(h)
	}
	if _, err := fd.Stat(); err == nil || len(r.files) != 0 {
		t.Errorf("%d files after the last was released", len(r.files))
	}
}
