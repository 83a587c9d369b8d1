//go:build !windows

package ui_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"treering/internal/testfiles"
)

// terminal is a tmux session with a shell command in it.
type terminal struct {
	t      *testing.T
	socket string
}

// build makes the program once for all that runs it.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the program: not in short runs")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("tmux is needed: install it")
		}
		t.Skip("tmux is not installed; the explorer is not tried in a real terminal")
	}
	bin := filepath.Join(t.TempDir(), "treering")
	out, err := exec.Command("go", "build", "-o", bin, "treering").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// shell starts a command in a terminal of that size. When it has ended, the
// terminal says ENDED and its exit code, and whether the line discipline is as it
// was.
func shell(t *testing.T, w, h int, command string) *terminal {
	t.Helper()
	dir, err := os.MkdirTemp("", "tr") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	tm := &terminal{t, filepath.Join(dir, "tmux")}
	script := fmt.Sprintf("before=$(stty -g); %s; code=$?; test \"$before\" = \"$(stty -g)\" && echo ENDED $code sane || echo ENDED $code broken; cat", command)
	tm.tmux(append([]string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h)}, append(apart(dir), "sh", "-c", script)...)...)
	t.Cleanup(func() {
		if err := exec.Command("tmux", "-S", tm.socket, "kill-server").Run(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) { // it had ended already
				t.Error(err)
			}
		}
	})
	return tm
}

// apart starts a command of env's that knows nothing of who runs the tests, and leaves
// nothing among what that user's own explorer remembers.
func apart(home string) []string {
	return []string{
		"env", "-u", "TREERING_STORE", "TERM=screen-256color", "LC_ALL=C.UTF-8", "HOME=" + home,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_DATA_HOME=" + filepath.Join(home, "data"),
	}
}

func (tm *terminal) tmux(args ...string) string {
	tm.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", tm.socket}, args...)...).CombinedOutput()
	if err != nil {
		tm.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// run runs another program beside it.
func (tm *terminal) run(name string, args ...string) {
	tm.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		tm.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (tm *terminal) screen() string { return tm.tmux("capture-pane", "-p") }

func (tm *terminal) keys(keys ...string) {
	tm.t.Helper()
	tm.tmux(append([]string{"send-keys"}, keys...)...)
}

// answers presses a key until a text is on the screen: one that is pressed while the
// terminal changes hands may be lost.
func (tm *terminal) answers(key, text string) {
	tm.t.Helper()
	for range 20 {
		tm.keys(key)
		for range 20 {
			if strings.Contains(tm.screen(), text) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	tm.waits(text)
}

// waits until all the texts are on the screen.
func (tm *terminal) waits(texts ...string) {
	tm.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		screen, missing := tm.screen(), ""
		for _, s := range texts {
			if !strings.Contains(screen, s) {
				missing = s
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			tm.t.Fatalf("%q is not on the screen:\n%s", missing, screen)
		}
		time.Sleep(20 * time.Millisecond) // tmux has no way to wait for a screen
	}
}

func TestInATerminal(t *testing.T) {
	bin := build(t)
	t.Run("a harel file", func(t *testing.T) {
		t.Parallel()
		path := testfiles.Copy(t, "harel-shop.db")
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tm := shell(t, 80, 24, bin+" "+path)
		tm.waits("read-only", "order-0000", "81 executions", "Trace · 1 of 1")
		tm.keys("j", "j", "j")
		tm.waits("Family · order-0003", "waits for 2 of 2", "Trace · 3 of 3")
		tm.keys("/")
		tm.keys("order-long", "Enter")
		tm.waits("200 of 450, 250 dropped")
		tm.keys("s")
		tm.waits("read-only: start with --rw")
		tm.tmux("resize-window", "-x", "200", "-y", "60")
		tm.waits("3 [Ancestry]", "6 Queues", "whole store: 0 outbox")
		tm.tmux("resize-window", "-x", "30", "-y", "8")
		tm.waits("treering needs 40x12")
		tm.tmux("resize-window", "-x", "40", "-y", "12")
		tm.waits("▸1 [Executions]")
		tm.keys("q")
		tm.waits("ENDED 0 sane")
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("the file changed (%v)", err)
		}
		if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
			t.Errorf("beside the file: %v, %v", names, err)
		}
	})
	t.Run("a store of ours, written from elsewhere", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "own.db")
		run := func(args ...string) string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, bin, append([]string{"-s", path}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return strings.TrimSpace(string(out))
		}
		run("--create", "session", "create", "example")
		root := run("append", "example", "--root", "--kind", "init", "--data", `{"title":"base-image"}`)
		tm := shell(t, 100, 30, bin+" "+path)
		tm.waits("writable · live", "base-image", "1 node, 1 head")
		run("append", "example", "--parent", root, "--kind", "run", "--data", `{"title":"from another process"}`)
		tm.waits("from another process", "2 nodes, 1 head")
		tm.keys("2", "a")
		tm.waits("Append a node")
		time.Sleep(300 * time.Millisecond) // the dialog takes no keys at first
		tm.keys("-l", `{"title":"from here"}`)
		tm.waits(`{"title":"from here"}`)
		tm.keys("Enter", "Enter")
		tm.waits("y append it")
		time.Sleep(600 * time.Millisecond) // nor those that follow too fast
		tm.keys("y")
		tm.waits("appended", "from here", "3 nodes, 2 heads")
		if out := run("children", "example", root, "--json"); !strings.Contains(out, "from here") || !strings.Contains(out, "from another process") {
			t.Errorf("stored: %s", out)
		}
		tm.keys("q")
		tm.waits("ENDED 0 sane")
	})
	t.Run("in the background and back", func(t *testing.T) {
		t.Parallel()
		path := testfiles.Copy(t, "harel-shop.db")
		// An interactive shell has job control.
		tm := shell(t, 80, 24, "PS1='SHELL$((n=n+1))> ' sh -i")
		tm.waits("SHELL1>")
		tm.keys("stty -g > "+path+".before; "+bin+" "+path, "Enter")
		tm.waits("read-only", "order-0000")
		prompt := 1
		next := func() { // waits for the shell's next line
			prompt++
			tm.waits(fmt.Sprintf("SHELL%d>", prompt))
		}
		for range 2 {
			tm.keys("C-z")
			next()
			tm.keys("clear; stty -g | cmp - "+path+".before && echo AS BEFORE", "Enter")
			tm.waits("AS BEFORE")
			next()
			tm.keys("clear; fg", "Enter")
			tm.waits("read-only", "order-0000", "? help")
			tm.answers("2", "▸2 Family")
			tm.answers("1", "▸1 [Executions]")
		}
		// Stopped from elsewhere, the terminal is the shell's to put right; back
		// again it is ours.
		tm.run("pkill", "-TSTP", "-x", "-f", bin+" "+path)
		next()
		tm.keys("stty sane; clear; fg", "C-j") // what is left on the screen goes with that
		tm.waits("read-only", "order-0000", "? help")
		tm.answers("2", "▸2 Family")
		tm.keys("q")
		next()
		tm.keys("clear; stty -g | cmp - "+path+".before && echo STILL AS BEFORE", "Enter")
		tm.waits("STILL AS BEFORE")
	})
	t.Run("no shell to come back from", func(t *testing.T) {
		t.Parallel()
		path := testfiles.Copy(t, "harel-shop.db")
		tm := shell(t, 80, 24, "true")
		tm.waits("ENDED")
		tm.tmux(append([]string{"respawn-pane", "-k"}, append(apart(filepath.Dir(tm.socket)), bin, path)...)...)
		tm.waits("order-0000")
		tm.keys("C-z")
		tm.waits("no shell is here", "order-0000")
		tm.keys("j")
		tm.waits("›order-0001")
	})
	for _, signal := range []string{"TERM", "HUP", "INT"} {
		t.Run("ended by "+signal, func(t *testing.T) {
			t.Parallel()
			path := testfiles.Copy(t, "harel-shop.db")
			tm := shell(t, 80, 24, bin+" "+path)
			tm.waits("order-0000")
			children := strings.TrimSpace(tm.tmux("display-message", "-p", "#{pane_pid}"))
			if out, err := exec.Command("pkill", "-"+signal, "-P", children, "-x", "treering").CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			tm.waits("ENDED", "sane")
		})
	}
}
