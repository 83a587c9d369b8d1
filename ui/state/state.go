// Package state keeps what the explorer remembers from one start to the next: the
// stores that were open, how the window was divided, the names of branches.
//
// It is one small file. Several explorers may run at once: every change is made
// to what the file holds at that moment, under a lock, and the file is replaced
// as a whole. Reading looks at what was last read or written and does no I/O.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"treering/store/locate"
)

// File is the name of the file in the folder of [locate.StateDir].
const File = "state.json"

// Bounds of what is kept.
const (
	MaxRecent   = 50
	MaxCommands = 20
	maxFile     = 16 << 20 // bytes
)

// version is that of the file's layout. A file of a later one is left alone.
const version = 1

// Subject is what was looked at last in a store.
type Subject struct {
	Kind string `json:"kind"` // "session" or "execution"
	ID   string `json:"id"`
}

// Recent is a store that was open.
type Recent struct {
	Store  string    `json:"store"` // an absolute path, or a locator without its secrets
	Prefix *string   `json:"prefix,omitempty"`
	Opened time.Time `json:"opened"`
	Last   *Subject  `json:"last,omitempty"`
}

// Splits say how a window of one size class is divided, in thousandths by name.
type Splits map[string]int

// memory is the file.
type memory struct {
	Version  int               `json:"version"`
	Recent   []Recent          `json:"recent,omitempty"`
	Splits   map[string]Splits `json:"splits,omitempty"`
	Commands []string          `json:"commands,omitempty"` // of the palette, the latest first
	// Branches are names of nodes: by store, session and name.
	Branches map[string]map[string]map[string]string `json:"branches,omitempty"`
}

// State is what is remembered. It is safe for concurrent use.
type State struct {
	path string // "" keeps everything in this process only

	mu   sync.Mutex // never held during I/O
	now  memory
	gone memory // of stores that are gone when they are closed
	err  error  // why nothing can be kept

	writing sync.Mutex // one change of the file after the other
}

// InMemory returns a state that nothing outlives.
func InMemory() *State { return &State{} }

// Key is what a store is called here: the absolute path of a file, else its
// locator without its secrets; "" for one that is gone when it is closed.
func Key(info locate.Info) string {
	switch {
	case info.Path != "":
		return info.Path
	case info.Backend == "memory":
		return ""
	}
	return locate.Redact(info.Locator)
}

// Open reads the file. It always returns a state that can be used; the notes say
// what a user should know: that a damaged file was set aside, or that nothing can
// be kept.
func Open(env locate.Environ) (*State, []string) {
	dir, err := locate.StateDir(env)
	if err != nil {
		return InMemory(), []string{"nothing is remembered: " + err.Error()}
	}
	return OpenFile(filepath.Join(dir, File))
}

// OpenFile is [Open] for a path. The file need not exist, nor its folder.
func OpenFile(path string) (*State, []string) {
	s := &State{path: path}
	now, err := read(path)
	switch {
	case err == nil:
		s.now = now
		return s, nil
	case errors.Is(err, errDamaged):
		aside, rerr := s.setAside()
		switch {
		case rerr != nil:
			s.err = rerr
			return s, []string{fmt.Sprintf("%s is damaged and could not be set aside, so nothing is remembered: %v", path, rerr)}
		case aside == "": // somebody else did
			s.now, s.err = read(path)
			return s, nil
		}
		return s, []string{fmt.Sprintf("%s is damaged; it was set aside as %s, and a new one is begun", path, aside)}
	}
	s.err = err
	return s, []string{fmt.Sprintf("nothing is remembered: %v", err)}
}

// Path is the file, "" where there is none.
func (s *State) Path() string { return s.path }

var (
	errDamaged = errors.New("it cannot be read as what it should be")
	errNewer   = errors.New("a later version of treering wrote it")
)

func read(path string) (m memory, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return m, err
	case !info.Mode().IsRegular():
		return m, fmt.Errorf("%s: it is no file", path)
	case info.Size() > maxFile:
		return m, fmt.Errorf("%s: %w: it has %d bytes", path, errDamaged, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return memory{}, fmt.Errorf("%s: %w: %v", path, errDamaged, err)
	}
	switch {
	case m.Version > version:
		return memory{}, fmt.Errorf("%s: %w", path, errNewer)
	case m.Version < 1:
		return memory{}, fmt.Errorf("%s: %w: it has no version", path, errDamaged)
	}
	return m, nil
}

// setAside renames a damaged file, and returns its new name; "" where it is not
// damaged any more.
func (s *State) setAside() (aside string, err error) {
	err = s.locked(func() error {
		if _, err := read(s.path); !errors.Is(err, errDamaged) {
			return err
		}
		for n := 1; ; n++ {
			aside = fmt.Sprintf("%s.damaged-%d", s.path, n)
			if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
				return os.Rename(s.path, aside)
			}
		}
	})
	return aside, err
}

// locked runs fn while no other process changes the file.
func (s *State) locked(fn func() error) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := lock(f); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.path, err), f.Close())
	}
	return errors.Join(fn(), f.Close()) // which unlocks it
}

// patience is how long a change waits for another process's, which takes
// milliseconds.
const patience = 2 * time.Second

var errLocked = errors.New("another process holds its lock")

// change applies an edit to what is remembered, in this process at once, and to
// what the file holds now. It does I/O.
func (s *State) change(edit func(*memory)) error {
	s.here(edit)
	if s.path == "" {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.locked(func() error {
		now, err := read(s.path)
		if err != nil {
			return err
		}
		edit(&now)
		now.Version = version
		text, err := json.MarshalIndent(now, "", "  ")
		if err != nil {
			return err
		}
		if err := replace(s.path, append(text, '\n')); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now = now
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember it: %w", err)
	}
	return nil
}

// here applies an edit to what this process remembers.
func (s *State) here(edit func(*memory)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	edit(&s.now)
}

// replace puts a file in the place of another, so that whoever reads finds one or
// the other, and only this user can.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// RecentStores lists the stores that were open, the latest first.
func (s *State) RecentStores() []Recent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.now.Recent)
}

// Touch notes that a store was opened. A store of [Key] "" is not remembered.
func (s *State) Touch(store string, prefix *string, at time.Time) error {
	if store == "" {
		return nil
	}
	return s.change(func(m *memory) {
		r := Recent{Store: store, Prefix: prefix, Opened: at.UTC().Truncate(time.Second)}
		if i := m.find(store); i >= 0 {
			r.Last = m.Recent[i].Last
			if r.Prefix == nil {
				r.Prefix = m.Recent[i].Prefix
			}
			m.Recent = slices.Delete(m.Recent, i, i+1)
		}
		m.Recent = slices.Insert(m.Recent, 0, r)
		slices.SortStableFunc(m.Recent, func(a, b Recent) int { return b.Opened.Compare(a.Opened) })
		m.Recent = m.Recent[:min(len(m.Recent), MaxRecent)]
	})
}

// Forget drops a store from those that were open.
func (s *State) Forget(store string) error {
	return s.change(func(m *memory) {
		m.Recent = slices.DeleteFunc(m.Recent, func(r Recent) bool { return r.Store == store })
	})
}

func (m *memory) find(store string) int {
	return slices.IndexFunc(m.Recent, func(r Recent) bool { return r.Store == store })
}

// LastSubject is what was looked at last in a store.
func (s *State) LastSubject(store string) (Subject, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.now.find(store); i >= 0 && s.now.Recent[i].Last != nil {
		return *s.now.Recent[i].Last, true
	}
	return Subject{}, false
}

// SetLastSubject notes what is looked at in a store that was [State.Touch]ed.
func (s *State) SetLastSubject(store string, sub Subject) error {
	if store == "" {
		return nil
	}
	return s.change(func(m *memory) {
		if i := m.find(store); i >= 0 {
			m.Recent[i].Last = &sub
		}
	})
}

// Splits say how windows of a size class were divided; nil where nobody did.
func (s *State) Splits(class string) Splits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now.Splits[class])
}

// SetSplits notes how windows of a size class are divided; nil forgets it.
func (s *State) SetSplits(class string, splits Splits) error {
	splits = maps.Clone(splits)
	return s.change(func(m *memory) {
		if len(splits) == 0 {
			delete(m.Splits, class)
			return
		}
		if m.Splits == nil {
			m.Splits = map[string]Splits{}
		}
		m.Splits[class] = splits
	})
}

// Commands are the intents that were chosen in the palette, the latest first.
func (s *State) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.now.Commands)
}

// UseCommand notes that an intent was chosen in the palette.
func (s *State) UseCommand(id string) error {
	return s.change(func(m *memory) {
		m.Commands = slices.DeleteFunc(m.Commands, func(c string) bool { return c == id })
		m.Commands = slices.Insert(m.Commands, 0, id)
		m.Commands = m.Commands[:min(len(m.Commands), MaxCommands)]
	})
}

// BranchNames are the names of a session's branches, and the nodes that they
// stand for. It is never nil.
func (s *State) BranchNames(store, session string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	from := s.now
	if store == "" {
		from = s.gone
	}
	maps.Copy(out, from.Branches[store][session])
	return out
}

// SetBranchName names a node of a session, which takes the name from another;
// with the node "" the name is forgotten. Names in a store of [Key] "" last as
// long as this process.
func (s *State) SetBranchName(store, session, name, node string) error {
	edit := func(m *memory) { m.name(store, session, name, node) }
	if store == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		edit(&s.gone)
		return nil
	}
	return s.change(edit)
}

func (m *memory) name(store, session, name, node string) {
	if node == "" {
		delete(m.Branches[store][session], name)
		if len(m.Branches[store][session]) == 0 {
			delete(m.Branches[store], session)
		}
		if len(m.Branches[store]) == 0 {
			delete(m.Branches, store)
		}
		return
	}
	if m.Branches == nil {
		m.Branches = map[string]map[string]map[string]string{}
	}
	if m.Branches[store] == nil {
		m.Branches[store] = map[string]map[string]string{}
	}
	if m.Branches[store][session] == nil {
		m.Branches[store][session] = map[string]string{}
	}
	m.Branches[store][session][name] = node
}
