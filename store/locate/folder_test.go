package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/storetest"
)

// A folder holds whatever it holds: files of lines, databases, links, and what is
// neither. All sessions in it are listed and open, and what is not is named.
func TestAFolderOfAllKinds(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		at = at.Add(-time.Minute)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	put("b/pi.jsonl", fmt.Sprintf(piHeader, "essay-1", "p")+said("u", "", "hello")) // called as a thread is
	put("a/junk.txt", "words")
	put("a/junk.jsonl", `{"step":1}`+"\n")
	put("a/junk.db", "no database")
	put("a/tool-results/out.jsonl", fmt.Sprintf(piHeader, "output", "p")+said("u", "", "what a tool printed"))
	for from, to := range map[string]string{"contree-cli.db": "c/any.db", "langgraph.sqlite": "d/state.sqlite", "harel-shop.db": "d/shop.db"} {
		text, err := os.ReadFile(testfiles.Copy(t, from))
		if err != nil {
			t.Fatal(err)
		}
		put(to, string(text))
	}
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	if err := os.WriteFile(outside, []byte(fmt.Sprintf(piHeader, "linked", "p")+said("u", "", "hi")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"gone.jsonl": "nowhere", "out.jsonl": outside, "again.jsonl": filepath.Join(dir, "b/pi.jsonl"), "self.jsonl": filepath.Join(dir, "self.jsonl")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	before := seen(t, dir)
	o := mustOpen(t, dir, Options{})
	heads, err := o.Foreign.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range heads {
		way, err := filepath.Rel(dir, h.Path)
		if err != nil {
			t.Fatal(err)
		}
		count, err := o.Trees.CountNodes(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		got[h.ID] = fmt.Sprintf("%s %s %d", h.Kind, filepath.ToSlash(way), count)
	}
	want := map[string]string{
		"essay-1": "pi b/pi.jsonl 2", "linked": "pi out.jsonl 2", "essay-1#2": "langgraph d/state.sqlite 21", "essay-2": "langgraph d/state.sqlite 6",
		"acme_build-api": "session c/any.db 12", "acme_fix-flaky-test": "session c/any.db 12", "scratch": "session c/any.db 5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i, h := range heads {
		if i > 0 && h.Updated > heads[i-1].Updated {
			t.Errorf("%s is newer than %s", h.ID, heads[i-1].ID)
		}
	}
	notes := strings.Join(o.Info.Notes, "\n")
	for _, name := range []string{"junk.jsonl", "junk.db", "shop.db", "gone.jsonl", "self.jsonl"} {
		if !strings.Contains(notes, name) {
			t.Errorf("%s is not named: %s", name, notes)
		}
	}
	storetest.TestTreeReading(t, o.Trees)
	unchanged(t, dir, before)
}

// A session that a program adds to a database of a folder is seen.
func TestAFolderWithADatabaseThatGrows(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(testfiles.Copy(t, "contree-sdk-v1.db"))
	path := filepath.Join(dir, "sessions.db")
	if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, dir, Options{})
	token, err := o.Foreign.ChangeToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, path, `INSERT INTO session_history_v1 (session_id, image_uuid, kind, title, created_at) VALUES ('fresh', 'i', 'init', 'more', '2030-01-01T00:00:00')`)
	if _, err := o.Foreign.Wait(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if n, err := o.Trees.CountNodes(t.Context(), "fresh"); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Trees.CountNodes(t.Context(), "fresh"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after it went away: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// Settings of pi and older places of contree are heeded; what cannot be read is named
// and keeps nothing else from being listed.
func TestAgentsElsewhere(t *testing.T) {
	home, other := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := os.ReadFile(testfiles.Copy(t, "contree-sdk-v1.db"))
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(home, ".pi/agent/settings.json"), fmt.Sprintf(`{"sessionDir":%q}`, filepath.Join(other, "mine")))
	put(filepath.Join(other, "mine/one.jsonl"), fmt.Sprintf(piHeader, "one", "p")+said("u", "", "hello"))
	put(filepath.Join(home, ".pi/agent/sessions/p/two.jsonl"), fmt.Sprintf(piHeader, "two", "p")+said("u", "", "hello"))
	if err := os.Symlink("nowhere", filepath.Join(home, ".pi/agent/sessions/p/gone.jsonl")); err != nil {
		t.Skip(err)
	}
	put(filepath.Join(other, "contree/sessions-default.db"), string(db))
	put(filepath.Join(other, "contree-cli/x.db"), string(db))
	found, notes, err := Agents(t.Context(), Environ{"HOME=" + home, "XDG_CONFIG_HOME=" + other}, "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, s := range found {
		got[s.Program+" "+filepath.Base(s.Path)]++
	}
	if diff := cmp.Diff(map[string]int{"pi one.jsonl": 1, "pi two.jsonl": 1, "contree sessions-default.db": 2, "contree x.db": 2}, got); diff != "" {
		t.Error(diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "gone.jsonl") {
		t.Errorf("%q", notes)
	}
}
