package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"treering/store"
)

// maxInput bounds what one argument or one line of a commit may hold: a node's
// data, with room for white space around it.
const maxInput = store.MaxDataBytes + 1<<16

// readArgument returns the text that an argument names: itself, the content of
// @FILE, or with - all of standard input.
func (a *app) readArgument(ctx context.Context, flag, value string) (string, error) {
	if value != "-" && !strings.HasPrefix(value, "@") {
		return value, nil
	}
	in, name, done, err := a.openInput(flag, strings.TrimPrefix(value, "@"))
	if err != nil {
		return "", err
	}
	var text []byte
	err = interruptible(ctx, func() (err error) {
		text, err = io.ReadAll(io.LimitReader(in, maxInput+1))
		return err
	})
	if err = errors.Join(err, done()); err != nil {
		return "", fmt.Errorf("read %s from %s: %w", flag, name, err)
	}
	if len(text) > maxInput {
		return "", tooLong(flag, store.MaxDataBytes)
	}
	return string(text), nil
}

func tooLong(what string, limit int) error {
	return &store.ValueError{
		Field:  what,
		Reason: fmt.Sprintf("is longer than %d bytes", limit),
		Err:    store.ErrTooLong,
	}
}

// openInput opens a file for reading, or standard input where its name is -.
func (a *app) openInput(what, name string) (in io.Reader, shown string, done func() error, err error) {
	if name == "-" {
		return a.stdin, "standard input", func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, "", nil, usagef("read %s: %w", what, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, "", nil, errors.Join(usagef("read %s: %q is a directory", what, name), f.Close())
	}
	return f, fmt.Sprintf("%q", name), f.Close, nil
}

// interruptible waits for fn, and after the end of the context no longer than grace.
// A read or write of a terminal or a pipe cannot be cancelled, nor SQLite's wait for
// another process; it is left behind, and the process ends. What fn sets counts only
// if it has ended: a context that is done returns its error.
func interruptible(ctx context.Context, fn func() error) error {
	if ctx.Done() == nil {
		return fn()
	}
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ctx.Err()
	}
}

// grace is what is left after an interrupt for what does end by itself, such as
// removing a private copy.
const grace = 200 * time.Millisecond

// lines yields the lines of an input that are not blank, with their numbers. A line
// that is longer than maxInput is an error, with its number too.
func lines(ctx context.Context, in io.Reader, name string, visit func(n int, line string) error) error {
	type read struct {
		text string
		err  error
	}
	next, stop := make(chan read), make(chan struct{})
	defer close(stop)
	go func() {
		r := bufio.NewReaderSize(in, 1<<16)
		for {
			text, err := readLine(r)
			select {
			case next <- read{text, err}:
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for n := 1; ; n++ {
		select {
		case r := <-next:
			if strings.TrimSpace(r.text) != "" {
				if err := visit(n, r.text); err != nil {
					return fmt.Errorf("%s, line %d: %w", name, n, err)
				}
			}
			if errors.Is(r.err, io.EOF) {
				return nil
			}
			if r.err != nil {
				return fmt.Errorf("%s, line %d: %w", name, n, r.err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readLine returns one line without its end. With io.EOF it returns what the last
// line held.
func readLine(r *bufio.Reader) (string, error) {
	var b []byte
	for {
		piece, err := r.ReadSlice('\n')
		b = append(b, piece...)
		switch {
		case len(b) > maxInput:
			return "", tooLong("commit", maxInput)
		case err == nil:
			return string(bytes.TrimSuffix(b, []byte{'\n'})), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return string(b), err
		}
	}
}
