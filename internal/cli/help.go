package cli

import (
	"fmt"
	"strings"

	"treering/store/locate"
)

const rootHelp = `Browse session trees and running statecharts, and what is inside them.

With a LOCATOR, or with none, treering opens the explorer. A locator is the path of a SQLite file, a file: or sqlite: URL, or memory:. A file that exists wins over a scheme; a command's name wins over a file of that name, so write ./demo for the file.

A file that another program made is open read-only unless --rw is given, and looking at it changes nothing. Only --create makes a file; the default store is made by the explorer or by a command that writes.`

const environmentHelp = `TREERING_STORE is the store to open where -s names none. XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME move the files named below. NO_COLOR takes the colours away.`

const filesHelp = `The default store is $XDG_DATA_HOME/treering/treering.db, the configuration $XDG_CONFIG_HOME/treering/config.toml; what the explorer remembers is below $XDG_STATE_HOME/treering. On macOS they are in ~/Library/Application Support/treering, on Windows in a folder treering below the ones that LOCALAPPDATA and APPDATA name.`

// placesHelp says where things are kept on this machine.
func (a *app) placesHelp() string {
	var b strings.Builder
	for _, p := range []struct {
		what string
		path func(locate.Environ) (string, error)
	}{{"default store", locate.DefaultPath}, {"configuration", locate.ConfigPath}, {"state", locate.StateDir}} {
		path, err := p.path(a.env)
		if err != nil {
			path = "none: " + err.Error()
		}
		fmt.Fprintf(&b, "%-15s%s\n", p.what, a.out.show(path))
	}
	return strings.TrimRight(b.String(), "\n")
}
