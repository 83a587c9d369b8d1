package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"treering/internal/term"
	"treering/store"
)

// errOutputClosed: nobody reads standard output any more.
var errOutputClosed = errors.New("standard output was closed")

// output is standard output, buffered. Plain text passes the sanitiser, wherever it
// goes; JSON is escaped where it is made.
type output struct {
	w        *bufio.Writer
	terminal bool
}

func newOutput(ctx context.Context, w io.Writer) *output {
	f, ok := w.(*os.File)
	return &output{w: bufio.NewWriterSize(pipeWriter{ctx, w}, 1<<16), terminal: ok && term.IsTerminal(f)}
}

// pipeWriter tells the end of a reader from a failure, and an interrupt reaches it
// even while nobody reads. A write that is left behind holds on to the buffer, which
// bufio does not touch again after an error.
type pipeWriter struct {
	ctx context.Context //nolint:containedctx // an io.Writer has no other way to get it
	w   io.Writer
}

func (p pipeWriter) Write(b []byte) (int, error) {
	written := make(chan int, 1)
	err := interruptible(p.ctx, func() error {
		n, err := p.w.Write(b)
		written <- n
		return err
	})
	n := 0
	select {
	case n = <-written:
	default:
	}
	if err != nil && isClosedPipe(err) {
		err = errOutputClosed
	}
	return n, err
}

// Write lets cobra and the man page write to the same stream.
func (o *output) Write(b []byte) (int, error) { return o.w.Write(b) }

func (o *output) flush() error { return o.w.Flush() }

// raw writes text as it is: JSON that was escaped, or the program's own words.
func (o *output) raw(s string) error {
	_, err := o.w.WriteString(s)
	return err
}

// stored writes bytes of the store and a line feed: as they are, unless a terminal
// would act on them.
func (o *output) stored(s string) error {
	if err := term.WritePlain(o.w, o.terminal, s); err != nil {
		return err
	}
	return o.raw("\n")
}

// linef writes one line of text. Arguments are foreign and are made safe.
func (o *output) linef(format string, args ...any) error {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = o.show(s)
		}
	}
	return o.raw(fmt.Sprintf(format, args...) + "\n")
}

// show makes foreign text fit for one line. It does so into a pipe as well: what
// reads it is as often a pager as a program, and programs have --json and --raw.
func (o *output) show(s string) string { return term.Sanitise(s).String() }

// jsonLine writes one line of JSON.
func (o *output) jsonLine(l *line) error {
	if _, err := o.w.Write(l.end()); err != nil {
		return err
	}
	return o.w.WriteByte('\n')
}

// line builds one strict JSON object, its members in the order in which they are
// put. Nothing in it can drive a terminal.
type line struct {
	b         []byte
	nonFinite bool
}

func (l *line) key(k string) {
	if len(l.b) == 0 {
		l.b = append(l.b, '{')
	} else {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, store.EscapeControls(store.Quote(k))...)
	l.b = append(l.b, ':')
}

// json puts a JSON value; an absent one is null.
func (l *line) json(k string, v store.JSON) *line {
	text, nonFinite := store.Strict(v)
	l.key(k)
	l.b = append(l.b, text...)
	l.nonFinite = l.nonFinite || nonFinite
	return l
}

func (l *line) text(k, s string) *line {
	l.key(k)
	l.b = append(l.b, store.EscapeControls(store.Quote(s))...)
	return l
}

func (l *line) optional(k string, s *string) *line {
	if s == nil {
		return l.null(k)
	}
	return l.text(k, *s)
}

func (l *line) texts(k string, list []string) *line {
	quoted := make([]store.JSON, len(list))
	for i, s := range list {
		quoted[i] = store.Quote(s)
	}
	return l.json(k, store.ArrayOf(quoted...))
}

func (l *line) null(k string) *line {
	l.key(k)
	l.b = append(l.b, "null"...)
	return l
}

func (l *line) integer(k string, n int64) *line {
	l.key(k)
	l.b = fmt.Appendf(l.b, "%d", n)
	return l
}

func (l *line) boolean(k string, v bool) *line {
	l.key(k)
	l.b = fmt.Appendf(l.b, "%t", v)
	return l
}

// seconds puts epoch seconds, exactly as stored.
func (l *line) seconds(k string, t float64) *line {
	return l.json(k, secondsJSON(t))
}

// bad puts what is wrong with a row, and what is stored there.
func (l *line) bad(e *store.RowError) *line {
	if e == nil {
		return l
	}
	l.text("row_error", e.Err.Error())
	l.key("raw")
	if utf8.Valid(e.Raw) {
		l.b = append(l.b, store.EscapeControls(store.Quote(string(e.Raw)))...)
		return l
	}
	l.b = append(l.b, `{"base64":"`...)
	l.b = base64.StdEncoding.AppendEncode(l.b, e.Raw)
	l.b = append(l.b, `"}`...)
	return l
}

// end closes the object and says whether a number in it is no JSON number.
func (l *line) end() []byte {
	if l.nonFinite {
		l.boolean("non_json", true)
		l.nonFinite = false
	}
	if len(l.b) == 0 {
		return []byte("{}")
	}
	return append(l.b, '}')
}
