package query

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// Bounds of a query.
const (
	MaxBytes = 64 << 10 // of its text
	MaxDepth = 100      // of parentheses and nots around each other
)

// The tokens of a query.
const (
	tokenWord lexer.TokenType = iota + 1
	tokenNot
	tokenAnd
	tokenOr
	tokenOpen
	tokenClose
	tokenCall  // a name with the parenthesis after it
	tokenField // what stands before an operator
	tokenOp
	tokenValue  // what stands after one
	tokenString // in quotes, which are part of it
	tokenBad    // a string without an end
)

// definition tells the parser about the tokens.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{
		"EOF": lexer.EOF, "Word": tokenWord, "Not": tokenNot, "And": tokenAnd, "Or": tokenOr, "Open": tokenOpen, "Close": tokenClose,
		"Call": tokenCall, "Field": tokenField, "Op": tokenOp, "Value": tokenValue, "String": tokenString, "Bad": tokenBad,
	}
}

func (d definition) Lex(name string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the query: %w", err)
	}
	return d.LexString(name, string(b))
}

func (definition) LexString(_, text string) (lexer.Lexer, error) {
	return &tokens{list: scan(text), end: len(text)}, nil
}

// tokens hands out what was scanned.
type tokens struct {
	list []lexer.Token
	end  int
}

func (t *tokens) Next() (lexer.Token, error) {
	if len(t.list) == 0 {
		return lexer.EOFToken(lexer.Position{Offset: t.end}), nil
	}
	tok := t.list[0]
	t.list = t.list[1:]
	return tok, nil
}

// scanning is the state between two tokens.
type scanning struct {
	text string
	at   int
	list []lexer.Token
}

// scan parts a text into tokens. It takes any text: what makes no sense is found
// later, when more is known.
func scan(text string) []lexer.Token {
	s := scanning{text: text}
	for {
		s.at = skipBlank(text, s.at)
		if s.at >= len(text) {
			return s.list
		}
		switch c := text[s.at]; {
		case c == '(':
			s.add(tokenOpen, s.at+1)
		case c == ')':
			s.add(tokenClose, s.at+1)
		case c == '"':
			s.quoted()
		case operatorAt(text, s.at) > 0:
			s.add(tokenOp, s.at+operatorAt(text, s.at))
		default:
			s.head()
		}
	}
}

func (s *scanning) add(t lexer.TokenType, end int) {
	s.list = append(s.list, lexer.Token{Type: t, Value: s.text[s.at:end], Pos: lexer.Position{Offset: s.at}})
	s.at = end
}

func (s *scanning) quoted() {
	end, ok := stringEnd(s.text, s.at)
	if ok {
		s.add(tokenString, end)
	} else {
		s.add(tokenBad, end)
	}
}

// head scans a word, or a field with its operator and value, or a call.
func (s *scanning) head() {
	text := s.text
	end := runEnd(text, s.at, true)
	head := text[s.at:end]
	keyword := keywordType(head)
	if end < len(text) && text[end] == '(' && keyword == 0 && isName(head) {
		s.add(tokenCall, end+1)
		s.at = skipBlank(text, s.at)
		if s.at < len(text) && text[s.at] != ')' {
			s.value()
		}
		return
	}
	op := operatorAt(text, end)
	blank := 0
	if op == 0 && keyword == 0 && isPath(head) {
		// Comparisons may stand apart: depth > 3. A colon may not.
		blank = skipBlank(text, end) - end
		if op = operatorAt(text, end+blank); op > 0 && text[end+blank] == ':' {
			op = 0
		}
	}
	if op == 0 {
		if strings.Contains(head, `"`) {
			s.add(tokenField, end) // a path without an operator
			return
		}
		s.add(max(keyword, tokenWord), end)
		return
	}
	s.add(tokenField, end)
	s.at += blank
	s.add(tokenOp, s.at+op)
	if text[s.at-1] != ':' {
		s.at = skipBlank(text, s.at)
	}
	s.value()
}

// keywordType is the token of a keyword, 0 for any other word.
func keywordType(word string) lexer.TokenType {
	switch word {
	case "not", "NOT":
		return tokenNot
	case "and", "AND":
		return tokenAnd
	case "or", "OR":
		return tokenOr
	}
	return 0
}

// value scans what follows an operator or the parenthesis of a call, if anything
// does.
func (s *scanning) value() {
	if s.at >= len(s.text) {
		return
	}
	if s.text[s.at] == '"' {
		s.quoted()
		return
	}
	if end := runEnd(s.text, s.at, false); end > s.at {
		s.add(tokenValue, end)
	}
}

// runEnd is where a run of characters ends: at a blank, a parenthesis, a quote
// that does not follow a point, and where a field may be, at an operator.
func runEnd(text string, i int, operators bool) int {
	for i < len(text) {
		c := text[i]
		switch {
		case c == '(' || c == ')' || operators && operatorAt(text, i) > 0:
			return i
		case c == '"':
			end, ok := stringEnd(text, i)
			if i == 0 || text[i-1] != '.' || !ok {
				return i
			}
			i = end
			continue
		case c < utf8.RuneSelf:
			if unicode.IsSpace(rune(c)) {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(r) {
			return i
		}
		i += n
	}
	return i
}

func skipBlank(text string, i int) int {
	return i + len(text[i:]) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
}

// operatorAt is the length of the operator at i, 0 where there is none.
func operatorAt(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	two := i+1 < len(text) && text[i+1] == '='
	switch text[i] {
	case ':', '~':
		return 1
	case '=', '<', '>':
		if two {
			return 2
		}
		return 1
	case '!':
		if two {
			return 2
		}
	}
	return 0
}

// stringEnd is where the string that begins at i ends.
func stringEnd(text string, i int) (end int, ok bool) {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return len(text), false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// isName reports whether s could be the name of a field or a function.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// isPath reports whether s begins like a field or a path into JSON.
func isPath(s string) bool {
	name, _, _ := strings.Cut(s, ".")
	return isName(name)
}
