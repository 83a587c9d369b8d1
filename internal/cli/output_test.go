package cli

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"treering/store"
)

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  func(*line)
		want string
	}{
		{"nothing", func(*line) {}, `{}`},
		{"one of each", func(l *line) {
			l.text("a", "x").optional("b", nil).null("c").integer("d", -1).boolean("e", true).seconds("f", 1.5).json("g", "").texts("h", []string{"i"})
		}, `{"a":"x","b":null,"c":null,"d":-1,"e":true,"f":1.5,"g":null,"h":["i"]}`},
		{"controls are escaped", func(l *line) { l.text("a\u009b", "\x00\n\x1b\x7f\u0085\u202e") },
			`{"a\u009b":"\u0000\n\u001b\u007f\u0085\u202e"}`},
		{"controls in JSON are escaped", func(l *line) { l.json("a", "{\"\u202e\":\"\x7f\"}") }, `{"a":{"\u202e":"\u007f"}}`},
		{"no HTML escaping", func(l *line) { l.text("a", "<&>") }, `{"a":"<&>"}`},
		{"bytes that are no text", func(l *line) { l.text("a", "\xff") }, "{\"a\":\"\uFFFD\"}"},
		{"digits are kept", func(l *line) { l.json("a", " [ 1.50, 12345678901234567890 ] ") }, `{"a":[1.50,12345678901234567890]}`},
		{"non-finite", func(l *line) { l.json("a", `[NaN,-Infinity]`).text("b", "x") }, `{"a":["NaN","-Infinity"],"b":"x","non_json":true}`},
		{"non-finite seconds", func(l *line) { l.seconds("a", math.Inf(1)) }, `{"a":"Infinity","non_json":true}`},
		{"what is no JSON becomes a string", func(l *line) { l.json("a", `{"b`) }, `{"a":"{\"b"}`},
		{"a bad row", func(l *line) { l.bad(&store.RowError{Err: store.ErrNotObject, Raw: []byte("[1\x1b]")}) },
			`{"row_error":"not a JSON object","raw":"[1\u001b]"}`},
		{"a bad row of bytes", func(l *line) { l.bad(&store.RowError{Err: store.ErrNotText, Raw: []byte{0xff, 0}}) },
			`{"row_error":"not plain text","raw":{"base64":"/wA="}}`},
	} {
		var l line
		tt.put(&l)
		same(t, tt.name, string(l.end()), tt.want)
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	o := newOutput(t.Context(), &b)
	table := o.table("nothing there", "A", "B", "C")
	must(t, table.row("a", "", ""))
	must(t, table.row("line\nbreak\ttab", "日本", "end"))
	must(t, table.row(strings.Repeat("w", maxColumn+5), "b", "c"))
	must(t, table.end())
	same(t, "not on a terminal", b.String(), ""+
		"a               -\n"+
		"line␊break␉tab  日本  end\n"+
		strings.Repeat("w", maxColumn+5)+"  b     c\n")

	b.Reset()
	o.terminal = true
	table = o.table("nothing there", "A", "LONG HEAD", "C")
	must(t, table.row("\x1b[31ma", "b", "c"))
	must(t, table.end())
	same(t, "on a terminal", b.String(), ""+
		"A       LONG HEAD  C\n"+
		"␛[31ma  b          c\n")

	b.Reset()
	must(t, o.table("nothing there", "A").end())
	same(t, "empty, on a terminal", b.String(), "nothing there\n")

	b.Reset()
	must(t, o.stored("{\"a\":\"\x1b\"}"))
	must(t, o.flush())
	same(t, "stored bytes on a terminal", b.String(), "{\"a\":\"␛\"}\n")
}

// A reader that goes away ends a list quietly.
func TestClosedPipe(t *testing.T) {
	w := on(t, "harel-shop.db")
	for _, args := range [][]string{
		{"executions"}, {"executions", "--json"}, {"executions", "--raw"}, {"trace", "order-long", "--json"}, {"timers"}, {"info"},
		{"--help"}, {"version"}, {"man"}, {"completion", "bash"},
	} {
		r, out, err := os.Pipe()
		must(t, err)
		must(t, r.Close())
		var errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: out, stderr: &errs, env: []string{"HOME=" + w.home}, now: w.clock}
		if code := a.run(t.Context(), append([]string{"-s", w.store}, args...)); code != exitDone || errs.Len() > 0 {
			t.Errorf("%q: code %d, %q", args, code, errs.String())
		}
		must(t, out.Close())
	}
}

// A full disk is a failure.
func TestFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	w := on(t, "harel-shop.db")
	for _, args := range [][]string{{"executions"}, {"--help"}, {"help", "fire"}, {"--version"}, {"version"}, {"man"}} {
		var errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: full, stderr: &errs, env: []string{"HOME=" + w.home}, now: w.clock}
		if code := a.run(t.Context(), append([]string{"-s", w.store}, args...)); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%q: code %d, %q", args, code, errs.String())
		}
	}
	must(t, full.Close())
}
