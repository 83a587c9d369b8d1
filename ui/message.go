package ui

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/jsondoc"
	"treering/ui/paint"
)

// message is what somebody or something said in a node, as far as the programs are
// known that write such nodes. What is not understood stays in the data below it.
type message struct {
	facts []messageFact
	parts []messagePart
	calls []string // ids of the tool calls in it
	reply string   // id of the call that it answers
}

type messageFact struct{ label, text string }

// messagePart is one piece: a text, or a value for what has parts of its own.
type messagePart struct {
	heading string
	text    string
	value   store.JSON // instead of the text
	quiet   bool       // not meant for the reader
	failed  bool
}

func textAt(j store.JSON, path ...string) string {
	s, _ := j.At(path...).Text()
	return s
}

// messageOf finds the message in a node's data. Records of other programs are in raw;
// a node of a store of ours may hold one as it is.
func messageOf(data store.JSON) message {
	raw := data.Get("raw")
	if raw.Kind() != store.Object {
		raw = data
	}
	var m message
	m.took(raw)
	switch {
	case raw.Get("message").Kind() == store.Object:
		m.said(raw.Get("message"))
	case raw.Get("payload").Kind() == store.Object:
		m.item(raw.Get("payload"))
	case raw.At("checkpoint", "channel_values", "messages").Kind() == store.Array:
		m.last(raw.At("checkpoint", "channel_values", "messages"))
	case raw.Get("role").Kind() == store.String && !raw.Get("content").IsNull():
		m.said(raw)
	case raw != data && isItem(textAt(raw, "type")):
		m.item(raw) // as the first release of Codex wrote it
	default:
		m.add("summary", textAt(raw, "summary"))
		if content := raw.Get("content"); raw != data && !content.IsNull() {
			m.content("", content)
		}
	}
	return m
}

// took says how long something took, where its program has noted that.
func (m *message) took(raw store.JSON) {
	for _, path := range [][]string{{"durationMs"}, {"toolUseResult", "totalDurationMs"}, {"toolUseResult", "durationMs"}, {"message", "duration"}} {
		if ms, ok := raw.At(path...).Float64(); ok && ms > 0 && ms < 1e12 {
			m.lasted(ms / 1000)
			return
		}
	}
}

func (m *message) lasted(seconds float64) {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	m.fact("took", d.String())
}

func (m *message) fact(label, text string) {
	if text != "" {
		m.facts = append(m.facts, messageFact{label, text})
	}
}

func (m *message) add(heading, text string) {
	if strings.TrimSpace(text) != "" {
		m.parts = append(m.parts, messagePart{heading: heading, text: text})
	}
}

// said reads a message: who speaks, and a text or blocks.
func (m *message) said(j store.JSON) {
	role := textAt(j, "role")
	m.fact("model", textAt(j, "model"))
	m.usage(j.Get("usage"))
	if reason := textAt(j, "stopReason"); reason == "error" || reason == "aborted" || reason == "length" {
		m.fact("stopped", strings.TrimSpace(reason+" "+textAt(j, "errorMessage")))
	}
	switch role {
	case "toolResult":
		m.reply = textAt(j, "toolCallId")
		m.result(textAt(j, "toolName"), j.Get("content"), j.Get("isError") == "true")
		return
	case "bashExecution":
		m.add("command", "$ "+textAt(j, "command"))
		code, known := j.Get("exitCode").Int64()
		m.parts = append(m.parts, messagePart{heading: "output", text: textAt(j, "output"), failed: known && code != 0})
		if known && code != 0 {
			m.fact("exit code", fmt.Sprint(code))
		}
		return
	}
	m.content(role, j.Get("content"))
	m.add("summary", textAt(j, "summary"))
}

// content reads a text, or blocks of any of the kinds that are known.
func (m *message) content(role string, j store.JSON) {
	heading := "says"
	if role != "" {
		heading = role + " says"
	}
	if s, ok := j.Text(); ok {
		m.add(heading, s)
		return
	}
	if j.Kind() != store.Array {
		return
	}
	for b := range j.Elements() {
		if s, ok := b.Text(); ok {
			m.add(heading, s)
			continue
		}
		m.block(heading, b)
	}
}

func (m *message) block(heading string, b store.JSON) {
	switch kind := textAt(b, "type"); kind {
	case "text", "input_text", "output_text":
		m.add(heading, textAt(b, "text"))
	case "thinking", "reasoning":
		text := textAt(b, "thinking")
		if text == "" {
			text = textAt(b, "text")
		}
		if text != "" {
			m.parts = append(m.parts, messagePart{heading: "thinks", text: text, quiet: true})
		}
	case "tool_use", "toolCall":
		in := b.Get("input")
		if in.IsNull() {
			in = b.Get("arguments")
		}
		m.calls = append(m.calls, textAt(b, "id"))
		m.parts = append(m.parts, messagePart{heading: "calls " + textAt(b, "name"), value: in})
	case "tool_result":
		m.reply = textAt(b, "tool_use_id")
		m.result("", b.Get("content"), b.Get("is_error") == "true")
	case "image", "input_image", "image_url":
		m.parts = append(m.parts, messagePart{heading: image(b), quiet: true})
	}
}

// image says how large a picture is, which is all that a terminal shows of it.
func image(b store.JSON) string {
	data, kind := textAt(b, "data"), textAt(b, "mimeType")
	if data == "" {
		data, kind = textAt(b, "source", "data"), textAt(b, "source", "media_type")
	}
	if data == "" {
		url := textAt(b, "image_url")
		if url == "" {
			url = textAt(b, "image_url", "url")
		}
		if kind, data, _ = strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); data == "" && url != "" {
			return "an image, elsewhere"
		}
	}
	if kind == "" {
		kind = "of unknown type"
	}
	size := base64.StdEncoding.DecodedLen(len(data))
	return fmt.Sprintf("an image, %s, %s bytes", kind, treeview.Grouped(int64(size)))
}

// result is what a tool answered.
func (m *message) result(tool string, content store.JSON, failed bool) {
	heading := strings.TrimSpace(tool + " answers")
	before := len(m.parts)
	if s, ok := content.Text(); ok {
		m.add(heading, s)
	} else if content.Kind() == store.Array {
		for b := range content.Elements() {
			m.block(heading, b)
		}
	} else if !content.IsNull() {
		m.parts = append(m.parts, messagePart{heading: heading, value: content})
	}
	for i := before; i < len(m.parts); i++ {
		m.parts[i].failed = failed
	}
	if failed {
		m.fact("failed", "yes")
	}
}

func isItem(kind string) bool {
	switch kind {
	case "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call":
		return true
	}
	return false
}

// item reads an item of a chain that has no messages but their parts.
func (m *message) item(j store.JSON) {
	switch textAt(j, "type") {
	case "message":
		m.content(textAt(j, "role"), j.Get("content"))
	case "reasoning":
		for b := range j.Get("summary").Elements() {
			m.parts = append(m.parts, messagePart{heading: "thinks", text: textAt(b, "text"), quiet: true})
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		in := j.Get("arguments")
		if s, ok := in.Text(); ok { // JSON within JSON
			if inner, err := store.ParseJSON(s); err == nil {
				in = inner
			}
		}
		if in.IsNull() {
			in = j.Get("input")
		}
		if in.IsNull() {
			in = j.Get("action")
		}
		m.calls = append(m.calls, textAt(j, "call_id"))
		m.parts = append(m.parts, messagePart{heading: "calls " + textAt(j, "name"), value: in})
	case "function_call_output", "custom_tool_call_output":
		m.reply = textAt(j, "call_id")
		m.output(j.Get("output"))
	default:
		m.add("says", textAt(j, "message"))
	}
}

// output is what a tool answered; it may be JSON within JSON, with the exit code and the
// time beside what was said.
func (m *message) output(j store.JSON) {
	text, _ := j.Text()
	inner, err := store.ParseJSON(text)
	if err != nil || inner.Get("output").Kind() != store.String {
		m.result("", j, false)
		return
	}
	code, _ := inner.At("metadata", "exit_code").Int64()
	if code != 0 {
		m.fact("exit code", fmt.Sprint(code))
	}
	if s, ok := inner.At("metadata", "duration_seconds").Float64(); ok && s > 0 && s < 1e9 {
		m.lasted(s)
	}
	before := len(m.facts)
	m.result("", inner.Get("output"), code != 0)
	m.facts = m.facts[:before] // the code says it
}

// last reads the last of the messages of a state.
func (m *message) last(list store.JSON) {
	var last store.JSON
	n := 0
	for e := range list.Elements() {
		last = e
		n++
	}
	if n == 0 {
		return
	}
	m.fact("messages", fmt.Sprintf("%d, the last is shown", n))
	inner := last
	for _, key := range []string{"kwargs", "value"} {
		if v := last.Get(key); v.Kind() == store.Object {
			inner = v
		}
	}
	role := textAt(inner, "role")
	if role == "" {
		role = textAt(inner, "type")
	}
	if role == "" { // the class says who speaks
		class := textAt(last, "$type")
		for id := range last.Get("id").Elements() {
			class, _ = id.Text()
		}
		class = class[strings.LastIndexByte(class, '.')+1:]
		role = strings.ToLower(strings.TrimSuffix(class, "Message"))
	}
	m.content(role, inner.Get("content"))
	for call := range inner.Get("tool_calls").Elements() {
		m.parts = append(m.parts, messagePart{heading: "calls " + textAt(call, "name"), value: call.Get("args")})
	}
}

// usage says what it cost, in the words of the program.
func (m *message) usage(u store.JSON) {
	if u.Kind() != store.Object {
		return
	}
	var parts []string
	for _, k := range []struct{ keys, name string }{
		{"input_tokens input", "in"}, {"output_tokens output", "out"},
		{"cache_read_input_tokens cacheRead", "from the cache"}, {"cache_creation_input_tokens cacheWrite", "into the cache"},
	} {
		for _, key := range strings.Fields(k.keys) {
			if n, ok := u.Get(key).Int64(); ok && n != 0 {
				parts = append(parts, treeview.Grouped(n)+" "+k.name)
				break
			}
		}
	}
	m.fact("tokens", strings.Join(parts, ", "))
	if cost, ok := u.At("cost", "total").Float64(); ok && cost != 0 {
		m.fact("cost", fmt.Sprintf("%.4f", cost))
	}
}

// message writes what was said.
func (w *docWriter) message(m message) {
	for _, f := range m.facts {
		w.foreign(f.label, f.text)
	}
	for i, p := range m.parts {
		heading := term.Sanitise(p.heading)
		style := w.theme.Bold
		var body paint.Style
		switch {
		case p.failed:
			body = w.theme.Error
		case p.quiet:
			body = w.theme.Dim
		}
		if p.value != "" && !p.value.IsNull() {
			w.valueAs(heading.String(), fmt.Sprintf("%s[%d]", "parts", i), p.value)
			continue
		}
		w.doc.Blank()
		if p.text == "" {
			w.doc.Add(jsondoc.Line{Text: heading, Style: style})
			continue
		}
		w.doc.Head("", heading, style, jsondoc.NewText(p.text, body), nil)
	}
}
