package term

import "github.com/charmbracelet/x/ansi"

// RequestGraphemes asks the terminal whether it counts cells by grapheme
// clusters (DEC private mode 2027).
const RequestGraphemes = ansi.RequestModeUnicodeCore

// RequestIdentity asks the terminal what it is. Every terminal answers, and
// answers in turn: what it was asked before is answered by then.
const RequestIdentity = ansi.RequestPrimaryDeviceAttributes

// ConfirmsGraphemes reports whether a mode report says that the terminal counts
// cells by grapheme clusters, or does once it is told to.
func ConfirmsGraphemes(mode ansi.Mode, value ansi.ModeSetting) bool {
	return mode == ansi.ModeUnicodeCore && (value.IsSet() || value == ansi.ModeReset || value == ansi.ModePermanentlySet)
}
