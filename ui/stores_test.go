package ui

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
	settings "treering/ui/config"
	"treering/ui/layout"
	"treering/ui/state"
)

// house is an explorer that can go from store to store.
func house(t *testing.T, o *locate.Opened, memory *state.State, open Opener) *driver {
	t.Helper()
	d := &driver{t: t, now: noon}
	c := config{
		env: []string{"TERM=xterm"}, zone: time.UTC, memory: memory, now: func() time.Time { return d.now },
		after: func(wait time.Duration, f func() tea.Msg) tea.Cmd {
			return func() tea.Msg { return timer{d.now.Add(wait), f} }
		},
	}
	d.e = newExplorer(t.Context(), c, open, arrival{opened: o, unobserve: func() {}})
	// Commands run to their end here, and following has none.
	d.e.arrive = func(_ context.Context, o *locate.Opened) arrival { return arrival{opened: o, unobserve: func() {}} }
	d.m = d.e.m
	d.run(d.e.Init())
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	t.Cleanup(func() { must(t, d.e.end()) })
	return d
}

func opener(ctx context.Context, locator string, prefix *string) (*locate.Opened, error) {
	return locate.Open(ctx, locator, locate.Options{Prefix: prefix})
}

func openedFile(t *testing.T, path string) *locate.Opened {
	t.Helper()
	o, err := opener(t.Context(), path, nil)
	must(t, err)
	t.Cleanup(func() { must(t, o.Close()) })
	return o
}

func TestAnotherStoreIsOpened(t *testing.T) {
	shop, other := testfiles.Copy(t, "harel-shop.db"), testfiles.Copy(t, "harel-bad-values.db")
	memory := state.InMemory()
	first := openedFile(t, shop)
	d := house(t, first, memory, opener).shows("harel-shop.db", "order-0001").press("j", "Z", "m", "o")
	d.shows("Open a store", "open now").typed(other).press("enter")
	d.shows("harel-bad-values.db", "read-only").hides("order-0001").says("opened").focusedOn(layout.Navigator)
	if d.m.mouse {
		t.Error("the mouse was taken again")
	}
	if _, err := first.Executions.Counts(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the store before is still open: %v", err)
	}
	recent := memory.RecentStores()
	if len(recent) != 2 || recent[0].Store != other && recent[1].Store != other {
		t.Errorf("recent: %v", recent)
	}
	if last, ok := memory.LastSubject(shop); !ok || last.Kind != "execution" {
		t.Errorf("last: %v", last)
	}
	// And back, to what was looked at there.
	want, _ := memory.LastSubject(shop)
	d.press("o").typed("harel-shop").press("enter").shows("harel-shop.db")
	if d.m.subject.id != want.ID {
		t.Errorf("on %s, want %s", d.m.subject.id, want.ID)
	}
}

func TestAStoreThatCannotBeOpenedLeavesTheOtherOpen(t *testing.T) {
	first := openedFile(t, testfiles.Copy(t, "harel-shop.db"))
	d := house(t, first, nil, opener).press("o").typed(filepath.Join(t.TempDir(), "none.db")).press("enter")
	d.says("the store before is still open").shows("harel-shop.db", "order-0001").press("j").screen()
	if d.m.overlay != nil {
		t.Error("something is still open over the panes")
	}
	d.press("o").typed("postgres://me:secret@host/db").hides("secret").shows("postgres://me:••••••@host/db", "postgres://me@host/db").press("enter").says("still open")
	d.hides("secret")
	_, err := first.Executions.Counts(t.Context())
	must(t, err)

	d = open(t, seeded(t), 120, 40).press("o").says("no other store can be opened")
	if d.m.overlay != nil {
		t.Error("a list that leads nowhere")
	}
}

func TestASetIsChosen(t *testing.T) {
	d := house(t, openMemory(t), nil, func(ctx context.Context, locator string, prefix *string) (*locate.Opened, error) {
		if prefix == nil {
			return nil, &locate.AmbiguousSetError{Locator: locator, Sets: []locate.Set{{Prefix: "a", Executions: ptr(int64(3))}, {Prefix: ""}, {Prefix: "c"}}}
		}
		o, err := locate.Open(ctx, "memory:", locate.Options{})
		if err == nil {
			o.Info.Name = "set " + *prefix
		}
		return o, err
	})
	d.press("o").typed("x.db").press("enter").shows("several sets", "a_", "3 executions", "tables without a prefix").typed("c").press("enter").shows("set c")
}

// What the commands of the old model bring back is not for the new one, and its
// store is closed only when they have ended.
func TestOldAnswersAreDropped(t *testing.T) {
	first := openedFile(t, testfiles.Copy(t, "harel-shop.db"))
	d := house(t, first, nil, opener)
	release, began, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	late := d.e.own(d.e.stay, func() tea.Msg {
		close(began)
		<-release
		_, err := first.Executions.Counts(context.Background())
		ended <- err
		return answerFunc(func(m *Model) tea.Cmd { m.say("from the old one"); return nil })
	})
	came := make(chan tea.Msg, 1)
	go func() { came <- late() }()
	<-began
	old := d.e.stay
	closed := make(chan struct{})
	_, cmd := d.e.Update(owned{old, answerFunc(func(m *Model) tea.Cmd {
		m.next = &arrival{opened: openMemory(t), unobserve: func() { close(closed) }}
		return nil
	})})
	d.m = d.e.m
	done := make(chan struct{})
	go func() { defer close(done); flatten(cmd) }()
	if d.e.own(old, func() tea.Msg { t.Error("a command of the old model began"); return nil }); d.e.stay == old {
		t.Fatal("the old model is still there")
	}
	close(release)
	must(t, <-ended)
	d.send(<-came)
	d.hides("from the old one")
	<-done
	select {
	case <-closed:
		t.Error("the new one was given up")
	default:
	}
	if _, err := first.Executions.Counts(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the old store is still open: %v", err)
	}
	d.e.unobserve = func() {}
}

func TestAnOpeningIsLeft(t *testing.T) {
	waits := make(chan context.Context, 1)
	d := house(t, openMemory(t), nil, func(ctx context.Context, _ string, _ *string) (*locate.Opened, error) {
		waits <- ctx
		<-ctx.Done()
		return nil, ctx.Err()
	})
	d.press("o").typed("slow.db")
	_, cmd := d.e.Update(keyMsg("enter"))
	d.shows("opening slow.db").press("x", "enter").shows("opening slow.db")
	came := make(chan []tea.Msg, 1)
	go func() { came <- flatten(cmd) }()
	<-waits
	d.press("esc").says("left; the store before is still open")
	d.send(<-came...)
	if d.m.overlay != nil || d.m.next != nil {
		t.Error("it came all the same")
	}
}

func TestComplaintsAreSaid(t *testing.T) {
	o := openMemory(t)
	opts := Options{Opened: o, Settings: settings.Config{Path: "/x/config.toml", Keys: map[string][]string{"zoom": {"g x"}, "nonsense": {"x"}}},
		Problems: []settings.Problem{{Path: "/x/config.toml", Line: 3, Column: 1, Key: "theme", Text: "is a text in quotes, not a number"}}}
	m := newModel(t.Context(), opts.filled().config())
	if got, want := m.status.text.String(), "3 problems with the settings, i lists them: /x/config.toml:3:1: theme: is a text in quotes, not a number"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var lines []string
	for _, l := range aboutStore(m).lines {
		lines = append(lines, l.key.String()+" "+l.text.String())
	}
	for _, want := range []string{"settings /x/config.toml", `problem /x/config.toml: keys.nonsense: there is no intent "nonsense"`} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not in %q", want, lines)
		}
	}
}
