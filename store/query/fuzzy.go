package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a word that is looked for letter by letter: a text matches if it has
// the letters in their order, whatever stands between them. Case counts only where
// the word has a capital. It is immutable and safe to share.
type Pattern struct {
	text  string // folded unless exact
	runes []rune // of text
	exact bool   // case counts
	ascii bool
}

// NewPattern makes a pattern of a word.
func NewPattern(word string) *Pattern {
	p := &Pattern{exact: hasUpper(word), ascii: true}
	for _, r := range word {
		if !p.exact {
			r = fold(r)
		}
		p.ascii = p.ascii && r < utf8.RuneSelf
		p.runes = append(p.runes, r)
	}
	p.text = string(p.runes)
	return p
}

func hasUpper(s string) bool { return strings.ContainsFunc(s, unicode.IsUpper) }

// fold is the lower case of a rune. It never makes ASCII of what is not, so that
// bytes can be compared.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if l := unicode.ToLower(r); l >= utf8.RuneSelf {
		return l
	}
	return r
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func (p *Pattern) fold(r rune) rune {
	if p.exact {
		return r
	}
	return fold(r)
}

// Matches reports whether text has the letters of the pattern in their order. It
// allocates nothing.
func (p *Pattern) Matches(text string) bool {
	if p.ascii {
		return p.matchesBytes(text)
	}
	at := 0
	for _, r := range text {
		if p.fold(r) == p.runes[at] {
			if at++; at == len(p.runes) {
				return true
			}
		}
	}
	return at == len(p.runes)
}

func (p *Pattern) matchesBytes(text string) bool {
	if len(p.text) == 0 {
		return true
	}
	at, want := 0, p.text[0]
	for i := range len(text) {
		c := text[i]
		if c != want && (p.exact || lowerByte(c) != want) {
			continue
		}
		if at++; at == len(p.text) {
			return true
		}
		want = p.text[at]
	}
	return false
}

// What a letter of the pattern is worth where it is found. The ratios decide which
// of two places is the better one; Score adds what puts a whole word above all
// letters that are scattered.
const (
	scoreLetter   = 16
	scoreStart    = 8 // the first letter of a word
	scoreCamel    = 7 // a capital or a digit after a small letter
	scoreNext     = 6 // right after the letter before
	scoreFirst    = 2 // the bonus of the first letter counts so many times
	penaltyGap    = 3 // for letters between
	penaltyLetter = 1 // for each one after the first of them
)

// maxScored bounds what is weighed of a text, in runes: beyond it a match is a match.
const maxScored = 4096

// bonus of a letter that stands after another one; after none, prev is 0.
func bonus(prev, r rune) int {
	switch {
	case !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return 0
	case !unicode.IsLetter(prev) && !unicode.IsDigit(prev):
		return scoreStart
	case unicode.IsLower(prev) && unicode.IsUpper(r), !unicode.IsDigit(prev) && unicode.IsDigit(r):
		return scoreCamel
	}
	return 0
}

// none is the score of what does not match.
const none = -1 << 30

// Score weighs a match: letters in a row and at the beginnings of words count for
// more, gaps for less, and a text that has the pattern in one piece always ranks
// above one that has not. It is above 0, and 0 where nothing matches. It allocates
// nothing for patterns of up to 64 runes.
func (p *Pattern) Score(text string) int {
	if len(p.runes) == 0 || !p.Matches(text) {
		return 0
	}
	var small [2 * 64]int
	rows := small[:]
	if len(p.runes) > 64 {
		rows = make([]int, 2*len(p.runes))
	}
	best := p.sweep(text, rows)
	if p.inOnePiece(text) {
		// It may be in one piece only beyond what is weighed.
		best = max(best, len(p.runes)*scoreLetter) + len(p.runes)*(scoreStart*scoreFirst) + scoreStart
	}
	return max(best, 1)
}

func (p *Pattern) inOnePiece(text string) bool {
	if p.exact {
		return strings.Contains(text, p.text)
	}
	return indexFold(text, p.text) >= 0
}

// sweep goes over the text once. here[j] is the best score of the first j+1 letters
// with the last of them at this very rune, past[j] the best with it anywhere before,
// less what the gap up to here costs.
func (p *Pattern) sweep(text string, rows []int) int {
	m := len(p.runes)
	here, past := rows[:m], rows[m:2*m]
	for j := range m {
		here[j], past[j] = none, none
	}
	best := none
	prev := rune(0)
	at := 0
	for _, r := range text {
		if at == maxScored {
			break
		}
		folded := p.fold(r)
		extra := -1 // not computed: most runes match no letter
		for j := m - 1; j >= 0; j-- {
			if here[j] > none { // it ended at the rune before
				past[j] = max(past[j]-penaltyLetter, here[j]-penaltyGap)
			} else if past[j] > none {
				past[j] -= penaltyLetter
			}
			// here[j-1] still is of the rune before, since j falls.
			if folded != p.runes[j] {
				here[j] = none
				continue
			}
			if extra < 0 {
				extra = bonus(prev, r)
			}
			if j == 0 {
				here[0] = scoreLetter + extra*scoreFirst
			} else {
				row, gap := none, none
				if here[j-1] > none {
					row = here[j-1] + scoreLetter + max(extra, scoreNext)
				}
				if past[j-1] > none {
					gap = past[j-1] + scoreLetter + extra
				}
				here[j] = max(row, gap)
			}
			if j == m-1 && here[j] > best {
				best = here[j]
			}
		}
		prev = r
		at++
	}
	return best
}

// Positions returns the places of the pattern's letters in text, in runes, in the
// best match that Score finds, and false where there is none. They are appended to
// buf. Texts of which Score weighs only a part may be marked at their first match.
func (p *Pattern) Positions(text string, buf []int) ([]int, bool) {
	if !p.Matches(text) {
		return buf, false
	}
	m := len(p.runes)
	if m == 0 {
		return buf, true
	}
	if at := p.pieceAt(text); at >= 0 {
		for i := range m {
			buf = append(buf, at+i)
		}
		return buf, true
	}
	runes := []rune(text)
	if len(runes) > maxScored {
		return p.firstPositions(text, buf), true
	}
	return p.bestPositions(runes, buf), true
}

// pieceAt is where the pattern stands in one piece, at the beginning of a word if it
// does so anywhere, in runes; -1: nowhere.
func (p *Pattern) pieceAt(text string) int {
	found, from := -1, 0
	for {
		var i int
		if p.exact {
			i = strings.Index(text[from:], p.text)
		} else {
			i = indexFold(text[from:], p.text)
		}
		if i < 0 {
			break
		}
		i += from
		prev, _ := utf8.DecodeLastRuneInString(text[:i])
		r, n := utf8.DecodeRuneInString(text[i:])
		if i == 0 {
			prev = 0
		}
		if found < 0 {
			found = i
		}
		if bonus(prev, r) > 0 {
			found = i
			break
		}
		from = i + n
	}
	if found < 0 {
		return -1
	}
	return utf8.RuneCountInString(text[:found])
}

func (p *Pattern) firstPositions(text string, buf []int) []int {
	at, j := 0, 0
	for _, r := range text {
		if j < len(p.runes) && p.fold(r) == p.runes[j] {
			buf = append(buf, at)
			j++
		}
		at++
	}
	return buf
}

// bestPositions repeats the sweep with a memory of every cell.
func (p *Pattern) bestPositions(runes []rune, buf []int) []int {
	n, m := len(runes), len(p.runes)
	// from[i*m+j] is where letter j-1 stands if letter j stands at i; score beside it.
	from := make([]int32, n*m)
	score := make([]int, n*m)
	prev := rune(0)
	past := make([]int, m) // best score of letter j before here, less the gap
	pastAt := make([]int32, m)
	for j := range past {
		past[j] = none
	}
	bestAt := -1
	for i, r := range runes {
		folded, extra := p.fold(r), bonus(prev, r)
		for j := m - 1; j >= 0; j-- {
			here := none
			if folded == p.runes[j] {
				switch {
				case j == 0:
					here = scoreLetter + extra*scoreFirst
				default:
					if i > 0 && score[(i-1)*m+j-1] > none {
						here = score[(i-1)*m+j-1] + scoreLetter + max(extra, scoreNext)
						from[i*m+j] = int32(i - 1)
					}
					if past[j-1] > none && past[j-1]+scoreLetter+extra > here {
						here = past[j-1] + scoreLetter + extra
						from[i*m+j] = pastAt[j-1]
					}
				}
			}
			score[i*m+j] = here
			if j == m-1 && here > none && (bestAt < 0 || here > score[bestAt*m+j]) {
				bestAt = i
			}
		}
		// past is brought up to the next rune: what ended before this one costs a letter
		// more, what ended at the one before it a gap.
		for j := range m {
			if past[j] > none {
				past[j] -= penaltyLetter
			}
			if i > 0 && score[(i-1)*m+j] > none && score[(i-1)*m+j]-penaltyGap > past[j] {
				past[j], pastAt[j] = score[(i-1)*m+j]-penaltyGap, int32(i-1)
			}
		}
		prev = r
	}
	if bestAt < 0 {
		return buf
	}
	first := len(buf)
	for i, j := int32(bestAt), m-1; j >= 0; j-- {
		buf = append(buf, int(i))
		i = from[int(i)*m+j]
	}
	slices.Reverse(buf[first:])
	return buf
}

func newRanked(e *word) ranked {
	if e.phrase {
		return ranked{phrase: e.text}
	}
	return ranked{pattern: NewPattern(e.text)}
}

func (w ranked) matches(text string) bool {
	if w.pattern == nil {
		return strings.Contains(text, w.phrase)
	}
	return w.pattern.Matches(text)
}

func (w ranked) score(text string) int {
	if w.pattern != nil {
		return w.pattern.Score(text)
	}
	if strings.Contains(text, w.phrase) {
		return scoreLetter * utf8.RuneCountInString(w.phrase)
	}
	return 0
}

// shownWords are the words of a query that a match has in it, not those under not.
func shownWords(e expr, ws []ranked) []ranked {
	switch e := e.(type) {
	case *word:
		ws = append(ws, newRanked(e))
	case *allOf:
		for _, p := range e.parts {
			ws = shownWords(p, ws)
		}
	case *anyOf:
		for _, p := range e.parts {
			ws = shownWords(p, ws)
		}
	}
	return ws
}

// Highlight returns the places, in runes and ascending, of what the query's words
// found in a text that a row shows. They are appended to buf.
func (m *Matcher) Highlight(text string, buf []int) []int {
	first := len(buf)
	for _, w := range m.words {
		if w.pattern != nil {
			buf, _ = w.pattern.Positions(text, buf)
			continue
		}
		if i := strings.Index(text, w.phrase); i >= 0 {
			at := utf8.RuneCountInString(text[:i])
			for k := range utf8.RuneCountInString(w.phrase) {
				buf = append(buf, at+k)
			}
		}
	}
	slices.Sort(buf[first:])
	return buf[:first+len(slices.Compact(buf[first:]))]
}
