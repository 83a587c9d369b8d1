package locate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"treering/store"
)

// foreignError is a file of a kind that is recognised but not read.
func foreignError(shown, kind string) error {
	return &LocatorError{shown, kind + ": this version does not read it", store.ErrNotAStore}
}

// Of a file that is no database this much is looked at, and so many of its lines.
const (
	headBytes = 1 << 20
	headLines = 20
)

// foreignText names the program whose session a file of JSON lines holds, judged by
// its first lines, or returns "". The path leads to a regular file that is no
// SQLite database.
func foreignText(path string) (kind string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("look at %q: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	if err != nil {
		return "", fmt.Errorf("look at %q: %w", path, err)
	}
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	objects := 0
	// A line feed is all that ends a line: U+2028 may stand inside a string.
	for line := range bytes.SplitSeq(head, []byte{'\n'}) {
		j, err := store.ParseJSON(string(line))
		if err != nil || j.Kind() != store.Object {
			continue // torn or foreign lines are usual in such files
		}
		objects++
		if kind := foreignLine(j); kind != "" {
			return kind, nil
		}
		if objects == headLines {
			break
		}
	}
	return "", nil
}

func foreignLine(j store.JSON) string {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if j.Get(k) == "" {
				return false
			}
		}
		return true
	}
	kind, _ := j.Get("type").Text()
	switch {
	case kind == "session" && has("id", "cwd"):
		return "a pi session"
	case kind == "title" && has("pad"):
		return "an oh-my-pi session"
	case j.Get("kind") == `"header"` && has("v"):
		return "a pi session"
	case kind == "session_meta", has("timestamp", "type", "payload"):
		return "a Codex session"
	case has("sessionId") && (has("uuid") || has("parentUuid") || claudeTypes[kind]):
		return "a Claude Code session"
	case has("sessionId", "projectHash"):
		return "a Gemini CLI session"
	}
	return ""
}

// claudeTypes are records of a Claude Code transcript that are no messages.
var claudeTypes = map[string]bool{
	"user": true, "assistant": true, "summary": true, "file-history-snapshot": true, "queue-operation": true,
}
