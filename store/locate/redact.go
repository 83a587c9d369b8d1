package locate

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// secrets are parameters that hold one, in URLs and in keyword strings.
var secrets = regexp.MustCompile(`(?i)((?:` + secretNames + `)\s*=\s*)('(?:[^'\\]|\\.)*'?|[^&\s;]*)`)

const secretNames = `password|passwd|pass|pwd|sslpassword|secret|token|apikey|api_key|auth`

var secretName = regexp.MustCompile(`(?i)(?:` + secretNames + `)$`)

// plainUser is a name that is certainly no more than that.
var plainUser = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// Redact takes the credentials out of a locator. Of what stands before the last @
// of a URL with an authority only a plain user name is kept, and only for PostgreSQL
// and rqlite; the values of parameters that hold a secret become three dots. A path is
// returned as it is unless it looks like one of these.
//
// Whatever shows, logs or keeps a locator calls this: what it returns can be opened
// again where the password comes from the environment or a file.
func Redact(locator string) string {
	m := scheme.FindStringSubmatch(locator)
	if m == nil || !strings.HasPrefix(locator[len(m[0]):], "//") {
		return secrets.ReplaceAllString(locator, "${1}...")
	}
	head, rest := m[0]+"//", locator[len(m[0])+2:]
	server := target{}.serverOf(strings.ToLower(m[1]), "").server
	// An authority that is empty has no credentials before an @ that comes later.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && !(server != "" && strings.HasPrefix(rest, "/")) {
		user, _, _ := strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
		// Of Redis people write the password there, too.
		if server != "" && server != "Redis" && plainUser.MatchString(user) {
			head += user + "@"
		}
	}
	if before, query, ok := strings.Cut(rest, "?"); ok && server != "" {
		rest = before + "?" + redactQuery(query)
	}
	return head + secrets.ReplaceAllString(rest, "${1}...")
}

// redactQuery finds secrets under names that are written with escapes, too.
func redactQuery(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, ok := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); ok && (err != nil || secretName.MatchString(plain)) {
			pairs[i] = name + "=..."
		}
	}
	return strings.Join(pairs, "&")
}

// RedactIn takes the credentials of a locator out of a text that may quote it, such
// as an error of a driver.
func RedactIn(text, locator string) string {
	shown := Redact(locator)
	if shown == locator {
		return text
	}
	text = strings.ReplaceAll(text, locator, shown)
	if quoted := quotedLess(locator); quoted != locator {
		text = strings.ReplaceAll(text, quoted, quotedLess(shown))
	}
	return text
}

// quotedLess is what %q makes of a text, without the quotes.
func quotedLess(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}

// Mask returns what is being typed of a locator with a dot for every character of
// a password in it, or of what may become one: as many characters as typed has.
// Before the @ is there, whatever follows a colon and is no port counts as one.
func Mask(typed string) string {
	hidden := make([]bool, len(typed))
	hide := func(from, to int) {
		for i := from; i < to; i++ {
			hidden[i] = true
		}
	}
	if at := strings.Index(typed, "://"); at >= 0 {
		start := at + len("://")
		rest := typed[start:]
		if end := strings.LastIndexByte(rest, '@'); end >= 0 {
			if colon := strings.IndexByte(rest[:end], ':'); colon >= 0 {
				hide(start+colon+1, start+end)
			}
		} else if colon := strings.LastIndexByte(rest, ':'); colon >= 0 && !port.MatchString(rest[colon+1:]) {
			hide(start+colon+1, len(typed))
		}
	}
	for _, m := range secrets.FindAllStringSubmatchIndex(typed, -1) {
		hide(m[4], m[5])
	}
	var b strings.Builder
	for i, r := range typed {
		if hidden[i] {
			r = '•'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// port is what follows the colon behind a host: digits, and then whatever a locator
// goes on with. The groups of an IPv6 address are no more secret.
var port = regexp.MustCompile(`^(?:[0-9]*(?:[/?#,].*)?|[0-9A-Fa-f]*\](?:[/?#,].*)?)$`)
