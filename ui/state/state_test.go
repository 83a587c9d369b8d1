package state

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"treering/store/locate"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, path string) *State {
	t.Helper()
	s, notes := OpenFile(path)
	if len(notes) > 0 {
		t.Fatal(notes)
	}
	return s
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestWhatIsRememberedIsThereAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", File)
	s := opened(t, path)
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("looking made the folder")
	}
	prefix := "harel"
	must(t, s.Touch("/a.db", nil, noon))
	must(t, s.Touch("/b.db", &prefix, noon.Add(time.Hour)))
	must(t, s.SetLastSubject("/a.db", Subject{"session", "s1"}))
	must(t, s.SetLastSubject("/c.db", Subject{"session", "s1"})) // never open
	must(t, s.Touch("/a.db", nil, noon.Add(2*time.Hour)))
	must(t, s.Touch("", nil, noon))
	must(t, s.SetSplits("full", Splits{"left": 300}))
	must(t, s.UseCommand("zoom"))
	must(t, s.UseCommand("help"))
	must(t, s.UseCommand("zoom"))
	must(t, s.SetBranchName("/a.db", "s1", "main", "n4"))
	must(t, s.SetBranchName("/a.db", "s1", "old", "n1"))
	must(t, s.SetBranchName("/a.db", "s1", "old", ""))
	must(t, s.SetBranchName("", "s1", "here", "n1"))
	must(t, s.UseCommand("zoom"))
	if got := s.BranchNames("", "s1"); got["here"] != "n1" {
		t.Errorf("branches of a store in memory: %v", got)
	}

	s = opened(t, path)
	recent := s.RecentStores()
	if len(recent) != 2 || recent[0].Store != "/a.db" || !recent[0].Opened.Equal(noon.Add(2*time.Hour)) || recent[1].Prefix == nil || *recent[1].Prefix != "harel" {
		t.Errorf("recent: %+v", recent)
	}
	if sub, ok := s.LastSubject("/a.db"); !ok || sub != (Subject{"session", "s1"}) {
		t.Errorf("last subject: %+v", sub)
	}
	if _, ok := s.LastSubject("/b.db"); ok {
		t.Error("a subject that nobody set")
	}
	if got := s.Splits("full"); got["left"] != 300 || s.Splits("tabbed") != nil {
		t.Errorf("splits: %v", got)
	}
	if got := strings.Join(s.Commands(), " "); got != "zoom help" {
		t.Errorf("commands: %s", got)
	}
	if got := s.BranchNames("/a.db", "s1"); !maps.Equal(got, map[string]string{"main": "n4"}) {
		t.Errorf("branches: %v", got)
	}
	if got := s.BranchNames("", "s1"); got == nil || len(got) > 0 {
		t.Errorf("branches of a store that is gone: %v", got)
	}
	must(t, s.Forget("/b.db"))
	must(t, s.SetSplits("full", nil))
	if s = opened(t, path); len(s.RecentStores()) != 1 || s.Splits("full") != nil {
		t.Errorf("%+v", s.now)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	left, err := filepath.Glob(path + ".new-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Two explorers that were opened on the same file lose nothing of each other's.
func TestTwoAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	const each = 20
	var wg sync.WaitGroup
	for w := range 3 {
		s := opened(t, path)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each / 2 {
				if err := s.Touch(fmt.Sprintf("/%d-%02d.db", w, i), nil, noon); err != nil {
					t.Error(err)
				}
				if err := s.SetBranchName("/x.db", "s", fmt.Sprintf("%d-%d", w, i), "n"); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	s := opened(t, path)
	if n, names := len(s.RecentStores()), len(s.BranchNames("/x.db", "s")); n != 3*each/2 || names != 3*each/2 {
		t.Errorf("%d stores, %d names", n, names)
	}
}

func TestBounds(t *testing.T) {
	s := InMemory()
	for i := range MaxRecent + 10 {
		must(t, s.Touch(fmt.Sprint(i), nil, noon.Add(time.Duration(i)*time.Second)))
		must(t, s.UseCommand(fmt.Sprint(i)))
	}
	if r := s.RecentStores(); len(r) != MaxRecent || r[0].Store != fmt.Sprint(MaxRecent+9) {
		t.Errorf("%d, %v", len(r), r[0])
	}
	if len(s.Commands()) != MaxCommands {
		t.Error(len(s.Commands()))
	}
}

func TestADamagedFileIsSetAside(t *testing.T) {
	for name, text := range map[string]string{"half": `{"version":1,"rec`, "other": `[1]`, "empty": "", "no version": "{}", "types": `{"version":1,"recent":{}}`} {
		path := filepath.Join(t.TempDir(), File)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		s, notes := OpenFile(path)
		if len(notes) != 1 || !strings.Contains(notes[0], "set aside as "+path+".damaged-1") {
			t.Errorf("%s: %v", name, notes)
		}
		must(t, s.Touch("/a.db", nil, noon))
		if s = opened(t, path); len(s.RecentStores()) != 1 {
			t.Errorf("%s: %+v", name, s.now)
		}
		kept, err := os.ReadFile(path + ".damaged-1")
		if err != nil || string(kept) != text {
			t.Errorf("%s: %q %v", name, kept, err)
		}
	}
}

func TestAFileOfALaterVersionIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	const text = `{"version":99}`
	must(t, os.WriteFile(path, []byte(text), 0o600))
	s, notes := OpenFile(path)
	if len(notes) != 1 || !strings.Contains(notes[0], "later version") {
		t.Errorf("%v", notes)
	}
	if err := s.Touch("/a.db", nil, noon); err == nil {
		t.Error("it was changed")
	}
	if len(s.RecentStores()) != 1 {
		t.Error("this process forgot it")
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
		t.Errorf("%q %v", kept, err)
	}
}

func TestNowhereToKeepIt(t *testing.T) {
	s, notes := Open(locate.Environ{})
	if runtime.GOOS != "windows" && len(notes) != 1 {
		t.Errorf("%v", notes)
	}
	must(t, s.Touch("/a.db", nil, noon))
	if len(s.RecentStores()) != 1 {
		t.Error("this process forgot it")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "treering"), nil, 0o600))
	s, _ = Open(locate.Environ{"XDG_STATE_HOME=" + dir})
	if err := s.Touch("/a.db", nil, noon); err == nil {
		t.Error("a file for a folder")
	}
}

func TestKeysHoldNoSecrets(t *testing.T) {
	for _, c := range []struct {
		info locate.Info
		want string
	}{
		{locate.Info{Locator: "a.db", Path: "/x/a.db", Backend: "sqlite"}, "/x/a.db"},
		{locate.Info{Locator: "memory:", Backend: "memory"}, ""},
		{locate.Info{Locator: "postgres://me:secret@host/db?password=secret", Backend: "postgres"}, "postgres://me@host/db?password=..."},
	} {
		if got := Key(c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
