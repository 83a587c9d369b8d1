package term

import (
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Link is the address of something that a terminal can be asked to open. It is
// made by [FileLink] only: what is stored never becomes one. The zero value is
// none.
type Link struct{ url string }

// FileLink is the address of a local file. Only an absolute path has one.
func FileLink(path string) Link {
	if !filepath.IsAbs(path) {
		return Link{}
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("file://")
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // a drive letter
		b.WriteByte('/')
	}
	for _, c := range []byte(slashed) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/-._~:", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return Link{b.String()}
}

// Linked returns s, a composed text, as what leads to the address.
func (l Link) Linked(s string) string {
	if l.url == "" {
		return s
	}
	return ansi.SetHyperlink(l.url) + s + ansi.ResetHyperlink()
}

// KnowsLinks reports whether the terminal may be sent links. Most that do not know
// them take no notice; those of which that is not so are left out.
func KnowsLinks(env []string) bool {
	name := getenv(env, "TERM")
	return TerminalDepth(env) != NoColours && !strings.HasPrefix(name, "linux") && name != ""
}
