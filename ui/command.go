package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"treering/internal/term"
)

// noCommand begins the reason why there is no command.
const noCommand = "none: "

// command is the shell command that writes what a dialog writes, of a verb with its
// flags and arguments; where there is none, it says why.
func (m *Model) command(verb string, flags []string, args ...string) string {
	if !m.info.Ours {
		return m.shellCommand([]string{"--rw"}, verb, flags, args)
	}
	return m.shellCommand(nil, verb, flags, args)
}

// readingCommand is one that only reads, and is not armed for more.
func (m *Model) readingCommand(verb string, flags []string, args ...string) string {
	return m.shellCommand(nil, verb, flags, args)
}

func (m *Model) shellCommand(mode []string, verb string, flags, args []string) string {
	if m.info.Path == "" && m.info.Backend == "memory" {
		return noCommand + "no other program reaches a store in memory"
	}
	words := []string{"treering", "-s", m.info.Locator}
	if len(m.info.Sets) > 1 {
		for _, set := range m.info.Sets {
			if set.Open {
				words = append(words, "--prefix", set.Prefix)
			}
		}
	}
	words = append(append(append(words, mode...), strings.Fields(verb)...), flags...)
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			words = append(words, "--")
			break
		}
	}
	words = append(words, args...)
	for i, w := range words {
		if strings.ContainsRune(w, 0) {
			return noCommand + "a command line cannot hold the NUL in " + strconv.Quote(w)
		}
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell, where it needs to be. What a screen cannot
// show as it is, a control or a half character, is written as its bytes, in the
// quotes that bash, zsh and ksh read escapes in.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r) || r > 0x7f
	}
	switch {
	case term.Sanitise(s).String() != s:
		return shellBytes(s)
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0:
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shellBytes(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		i += size
		switch {
		case part == "'" || part == `\`:
			b.WriteString(`\` + part)
		case part >= " " && part < "\x7f":
			b.WriteString(part)
		default:
			for _, c := range []byte(part) {
				fmt.Fprintf(&b, `\%03o`, c) // three digits, so that none after it is taken for one of them
			}
		}
	}
	return b.String() + "'"
}
