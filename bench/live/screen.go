//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// screen is the program in a terminal, with what it shows.
type screen struct {
	cmd    *exec.Cmd
	master *os.File

	mu    sync.Mutex
	em    *vt.Emulator
	bytes int64
	last  time.Time // when something was read
	drawn chan struct{}
	done  chan struct{}
}

const columns, rows = 160, 50

// open starts the program on a store.
func (w *work) open(ctx context.Context, store string) (*screen, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	defer tty.Close()
	s := &screen{master: master, em: vt.NewEmulator(columns, rows), drawn: make(chan struct{}, 1), done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, w.bin, store)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "XDG_STATE_HOME="+w.dir, "XDG_CONFIG_HOME="+w.dir, "XDG_DATA_HOME="+w.dir)
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	go func() {
		// What the terminal answers goes back to the program. Its end is the emulator's.
		_, _ = io.Copy(master, s.em)
	}()
	go s.read()
	return s, nil
}

func (s *screen) read() {
	defer close(s.done)
	b := make([]byte, 1<<16)
	for {
		n, err := s.master.Read(b)
		if err != nil {
			return // the program ended
		}
		now := time.Now()
		s.mu.Lock()
		s.bytes += int64(n)
		s.last = now
		_, err = s.em.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case s.drawn <- struct{}{}:
		default:
		}
	}
}

// waits until a text is on the screen, and returns when what brought it was read.
func (s *screen) waits(ctx context.Context, text string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		shown, at := s.em.String(), s.last
		s.mu.Unlock()
		if strings.Contains(shown, text) {
			return at, nil
		}
		select {
		case <-s.drawn:
		case <-s.done:
			return at, fmt.Errorf("the explorer ended while %q was waited for", text)
		case <-ctx.Done():
			return at, fmt.Errorf("%q does not come: %w", text, ctx.Err())
		}
	}
}

func (s *screen) keys(keys ...string) error {
	for _, k := range keys {
		if _, err := io.WriteString(s.master, k); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // as somebody who types
	}
	return nil
}

// used is how much of a core the program had so far, and how much it wrote.
func (s *screen) used() (cpu time.Duration, bytes int64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+2:])
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		ticks += n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(ticks) * time.Second / 100, s.bytes, nil
}

func (s *screen) quit() error {
	err := s.keys("q")
	return errors.Join(err, s.cmd.Wait(), s.master.Close())
}
