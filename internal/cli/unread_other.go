//go:build !linux

package cli

import "io"

// whenUnread would call gone once nobody reads w any more. Here the next write tells.
func whenUnread(_ io.Writer, _ func()) (stop func()) { return func() {} }
