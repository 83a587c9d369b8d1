package sqlite

import (
	"bytes"

	"treering/store"
)

// preselect reports whether the row of an execution with these bytes may be one
// that the filter selects. Where it says no, the filter decided on the summary says
// no as well; where it cannot tell it says yes. It looks at the text without
// checking or copying it, which costs a small part of reading a summary. (SQL could
// do the same with instr, but then nothing bounds the rows that one page looks at,
// and it is slower.)
func preselect(f store.ExecutionFilter, data []byte) bool {
	if f.Status != nil && !mayHaveStatus(f.Status, data) {
		return false
	}
	// Written plainly the id stands in the text; otherwise there is an escape.
	return f.ParentID == nil || bytes.Contains(data, []byte(*f.ParentID)) || bytes.IndexByte(data, '\\') >= 0
}

func mayHaveStatus(words []store.Status, data []byte) bool {
	// The only status in the text may stand inside another member, and the
	// execution's own be missing: that makes it PENDING.
	if status, sure := onlyStatus(data); sure && !anyOf(words, []byte(store.Pending)) {
		return anyOf(words, status)
	}
	status, sure := statusOf(data)
	return !sure || anyOf(words, status)
}

func anyOf(words []store.Status, status []byte) bool {
	for _, w := range words {
		if w.Is(store.Status(status)) {
			return true
		}
	}
	return false
}

// onlyStatus finds the word after the key "status" where there is no other in the
// text and no way to write one differently: then it is the execution's own, or the
// execution has none.
func onlyStatus(data []byte) (status []byte, sure bool) {
	// Without its first quote, of which the text is full, the key is found four times as
	// fast.
	key := []byte(`status"`)
	at := bytes.Index(data, key)
	if at < 1 || data[at-1] != '"' {
		return nil, false
	}
	rest := data[at+len(key):]
	if bytes.Contains(rest, key) || bytes.IndexByte(data, '\\') >= 0 && bytes.Contains(data, []byte(`\u`)) {
		return nil, false
	}
	i := skipBlank(rest, 0)
	if i >= len(rest) || rest[i] != ':' {
		return nil, false
	}
	if i = skipBlank(rest, i+1); i >= len(rest) || rest[i] != '"' {
		return nil, false
	}
	end, plain := skipText(rest, i)
	if !plain {
		return nil, false
	}
	return rest[i+1 : end-1], true
}

// statusOf finds the status word of an execution. sure is false where the text is
// not as plain as programs write it, and where a member may be of a kind that makes
// the row a bad one. Text that is not JSON at all may pass for sure: it has no status,
// so it is right to leave it out.
func statusOf(data []byte) (status []byte, sure bool) {
	status = []byte(store.Pending) // harel's default for a missing member
	i := skipBlank(data, 0)
	if i >= len(data) || data[i] != '{' {
		return nil, false
	}
	for i = skipBlank(data, i+1); i < len(data) && data[i] == '"'; {
		end, plain := skipText(data, i)
		if !plain {
			return nil, false // an escaped key may be any
		}
		key := data[i+1 : end-1]
		i = skipBlank(data, end)
		if i >= len(data) || data[i] != ':' {
			return nil, false
		}
		i = skipBlank(data, i+1)
		end, plain = skipValue(data, i)
		if end < 0 {
			return nil, false
		}
		switch string(key) {
		case "status":
			if !plain || data[i] != '"' {
				return nil, false
			}
			status = data[i+1 : end-1] // of repeated members the last counts
		case "root_path":
			if data[i] != '"' {
				return nil, false
			}
		case "outcome", "error", "active_path", "parent_id", "definition_fqn", "child_id":
			if data[i] != '"' && data[i] != 'n' {
				return nil, false
			}
		case "context", "history", "children", "invoke_seq":
			if data[i] != '{' && data[i] != 'n' {
				return nil, false
			}
		case "deferred":
			if data[i] != '[' && data[i] != 'n' {
				return nil, false
			}
		case "processed_events", "priority":
			if !plainInt(data[i:end]) {
				return nil, false
			}
		}
		i = skipBlank(data, end)
		if i < len(data) && data[i] == '}' {
			return status, true
		}
		if i >= len(data) || data[i] != ',' {
			return nil, false
		}
		i = skipBlank(data, i+1)
	}
	return nil, false
}

// plainInt reports whether a number is written as one of 64 bits is.
func plainInt(b []byte) bool {
	b = bytes.TrimRight(b, " \n\t\r")
	if len(b) > 1 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipText returns the index after the string that begins at i, and whether it is
// without escapes. It is -1, false where the string does not end.
func skipText(b []byte, i int) (end int, plain bool) {
	plain = true
	for i++; ; i += 2 {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1, false
		}
		esc := bytes.IndexByte(b[i:i+n], '\\')
		if esc < 0 {
			return i + n + 1, plain
		}
		plain = false
		if i += esc; i+2 > len(b) {
			return -1, false
		}
	}
}

// skipValue returns the index after the value that begins at i, and for a string
// whether it is without escapes; -1 where the value does not end.
func skipValue(b []byte, i int) (end int, plain bool) {
	if i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		return skipNested(b, i), true
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == ',' || c == '}' {
			return i, true
		}
	}
	return -1, false
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, _ := skipText(b, i)
			if end < 0 {
				return -1
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
