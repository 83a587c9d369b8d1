package ui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/treeview"
)

// edited is what came of a text that was given to the user's editor.
type edited struct {
	text    string
	changed bool   // text is another one, to be taken
	why     string // what is to be said; "" for nothing
}

// maxEdited is how long a text an editor may leave: what a node takes, with room
// for white space around it.
const maxEdited = store.MaxDataBytes + 1<<16

// editText opens a text in the user's editor, an empty one as a beginning to be
// filled in. The file that it is in can be read by nobody else, and is removed
// afterwards; it stays where what is in it cannot be taken, so that it is not lost.
func (m *Model) editText(text, beginning string, done func(*Model, edited) tea.Cmd) tea.Cmd {
	if text == "" {
		text = beginning
	} else if !strings.HasSuffix(text, "\n") {
		text += "\n" // as editors leave it
	}
	chosen, env, run := m.made.settings.Editor, m.env, m.execute
	return func() tea.Msg {
		path, err := writeDraft(text)
		if err != nil {
			return answerFunc(func(m *Model) tea.Cmd { return done(m, edited{why: "no editor: " + err.Error()}) })
		}
		name, cmd := editorOf(chosen, env, path)
		return answerFunc(func(*Model) tea.Cmd {
			return run(cmd, func(err error) tea.Msg {
				e := readDraft(path, text, name, err)
				return answerFunc(func(m *Model) tea.Cmd { return done(m, e) })
			})
		})
	}
}

// writeDraft puts a text into a file of its own, which only the user can read.
func writeDraft(text string) (path string, err error) {
	f, err := os.CreateTemp("", "treering-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// editorOf is the command that edits a file: what the settings say, else VISUAL or
// EDITOR, which may be a command with arguments, else the system's own.
func editorOf(chosen string, env []string, path string) (name string, cmd *exec.Cmd) {
	name = strings.TrimSpace(chosen)
	for _, variable := range []string{"VISUAL", "EDITOR"} {
		if name != "" {
			break
		}
		if name = strings.TrimSpace(lastOf(env, variable)); name != "" {
			break
		}
	}
	if runtime.GOOS == "windows" {
		if name == "" {
			name = "notepad"
		}
		words := strings.Fields(name)
		cmd = exec.Command(words[0], append(words[1:], path)...)
	} else {
		if name == "" {
			name = "vi"
		}
		cmd = exec.Command("/bin/sh", "-c", name+` "$1"`, "sh", path)
	}
	cmd.Env = env
	return name, cmd
}

func lastOf(env []string, variable string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, variable+"="); ok {
			value = v
		}
	}
	return value
}

// readDraft reads what the editor left, and removes the file unless what is in it
// would be lost.
func readDraft(path, before, editor string, err error) edited {
	var ended *exec.ExitError
	const notFound = 127 // of a shell
	switch {
	case errors.As(err, &ended) && ended.ExitCode() == notFound && runtime.GOOS != "windows":
		return removed(path, edited{why: fmt.Sprintf("the editor %q is not there: set VISUAL or EDITOR", editor)})
	case errors.As(err, &ended):
		return removed(path, edited{why: fmt.Sprintf("the editor ended with %v: cancelled, nothing was taken", err)})
	case err != nil:
		return removed(path, edited{why: "the editor could not be started: " + err.Error()})
	}
	text, why := readEdited(path)
	if why != "" {
		return edited{why: why + "; it is still in " + path}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return removed(path, edited{why: "the editor left nothing: cancelled, nothing was taken"})
	case text == before:
		return removed(path, edited{why: "unchanged"})
	}
	return removed(path, edited{text: strings.TrimSuffix(text, "\n"), changed: true})
}

func readEdited(path string) (text, why string) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "what the editor left cannot be read: " + err.Error()
	}
	if info.Size() > maxEdited {
		return "", fmt.Sprintf("%s bytes are too many: a node takes %s", treeview.Grouped(info.Size()), treeview.Grouped(store.MaxDataBytes))
	}
	b, err := os.ReadFile(filepath.Clean(path))
	switch {
	case err != nil:
		return "", "what the editor left cannot be read: " + err.Error()
	case !utf8.Valid(b):
		return "", "what the editor left is not UTF-8"
	}
	return strings.TrimPrefix(string(b), "\ufeff"), ""
}

// removed takes the file away. Where that fails the user is told: there is a copy of
// the data that nobody expects.
func removed(path string, e edited) edited {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		if e.why != "" {
			e.why += "; "
		}
		e.why += "the file it was in is still there: " + err.Error()
	}
	return e
}
