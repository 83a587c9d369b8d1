package term

import "strings"

// NoColor reports whether the environment env (as [os.Environ] returns it)
// asks for output without colour: NO_COLOR is set and not empty.
func NoColor(env []string) bool { return getenv(env, "NO_COLOR") != "" }

// getenv returns the value of key in env, the last one if there are several,
// as the os package does.
func getenv(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// maxTitle is how wide a window title may be, in cells.
const maxTitle = 120

// Title makes a window title of s. Titles travel inside an escape sequence,
// and some terminals can be asked to type them back into the shell, so a title
// is one short sanitised line like any other text.
func Title(s string) string { return SanitiseN(s, maxTitle).String() }
