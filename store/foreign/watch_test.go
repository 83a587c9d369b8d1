package foreign_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store/foreign"
)

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is appended, replaced or put beside is told to all who wait; a wait that nobody
// wants any more ends.
func TestWait(t *testing.T) {
	s := samples()["pi"]
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	write(t, path, s.first+"\n")
	for name, opened := range map[string]*foreign.Store{
		"a file":   s.open(path),
		"a folder": foreign.NewStore(foreign.NewFolderReader(dir, ".jsonl", []*foreign.LineFormat{s.format}), dir),
	} {
		t.Run(name, func(t *testing.T) {
			token, err := opened.ChangeToken(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, change := range []func(){
				func() { appendTo(t, path, fmt.Sprintf(s.line(1)+"\n", "x")) },
				func() {
					write(t, path+".new", s.first+"\n\n"+name)
					if err := os.Rename(path+".new", path); err != nil {
						t.Fatal(err)
					}
				},
				func() { write(t, path, s.first+"\n") },
			} {
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
				var all sync.WaitGroup
				tokens := make([]string, 3)
				for n := range tokens {
					all.Go(func() {
						if now, err := opened.Wait(ctx, token); err != nil {
							t.Errorf("change %d: %v", i, err)
						} else {
							tokens[n] = now
						}
					})
				}
				change()
				all.Wait()
				stop()
				if token, err = opened.ChangeToken(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if _, err := opened.Wait(ctx, token); err == nil {
				t.Error("a wait that was given up returned a token")
			}
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A program writes its session in halves while it is followed: a half is not shown, and
// nothing is shown twice or left out.
func TestFollowingHalves(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			write(t, path, s.first+"\n"+fmt.Sprintf(s.line(0)+"\n", "x"))
			opened := s.open(path)
			session, _ := outlined(t, opened)
			before, err := opened.CountNodes(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 40 {
				at := i + 1
				line := fmt.Sprintf(s.line(at), strings.Repeat("é", i))
				cut := 1 + i*7%(len(line)-1)
				appendTo(t, path, line[:cut])
				held, err := opened.CountNodes(t.Context(), session)
				if err != nil || held != before+int64(i) {
					t.Fatalf("half a line, %d bytes: %d nodes, %v; want %d", cut, held, err, before+int64(i))
				}
				appendTo(t, path, line[cut:])
				if i%2 == 0 {
					appendTo(t, path, "\n")
				} else if i < 39 {
					if n, err := opened.CountNodes(t.Context(), session); err != nil || n != before+int64(i)+1 {
						t.Fatalf("a whole value without an end: %d nodes, %v", n, err)
					}
					appendTo(t, path, "\n")
				}
			}
			r, _, err := opened.Report(t.Context(), session)
			if err != nil || r.Unreadable != 0 {
				t.Errorf("%+v, %v", r, err)
			}
			// What was read in steps is what is read at once.
			_, steps := outlined(t, opened)
			_, once := outlined(t, s.open(path))
			if len(steps) != len(once) || strings.Join(steps, "\n") != strings.Join(once, "\n") {
				t.Errorf("in steps %d nodes, at once %d", len(steps), len(once))
			}
			m, err := opened.Marks(t.Context(), session, 0)
			if err != nil || m.Nodes != int64(len(once)) {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}
