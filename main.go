// Treering is a terminal explorer for session trees and executions.
package main

import (
	"context"
	"os"

	"treering/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
