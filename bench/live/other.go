//go:build !linux

// Live measures the explorer in a terminal of its own, on Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "live: this needs Linux")
	os.Exit(1)
}
