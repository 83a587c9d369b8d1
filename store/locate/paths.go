package locate

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
)

// Environ is an environment as [os.Environ] returns it. Of a name that occurs
// twice the last counts.
type Environ []string

// Get returns the value of a name, "" where it is not set.
func (e Environ) Get(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// DefaultPath is the file of the default store:
// $XDG_DATA_HOME/treering/treering.db, or the platform's own place for data where
// that is not set. It need not exist. The error says which variable is missing.
func DefaultPath(env Environ) (string, error) {
	return place(env, runtime.GOOS, "XDG_DATA_HOME", "treering.db")
}

// ConfigPath is the configuration file: $XDG_CONFIG_HOME/treering/config.toml, or
// the platform's place.
func ConfigPath(env Environ) (string, error) {
	return place(env, runtime.GOOS, "XDG_CONFIG_HOME", "config.toml")
}

// StateDir is the folder for what the explorer remembers, recent stores, layouts
// and branch names: $XDG_STATE_HOME/treering, or the platform's place.
func StateDir(env Environ) (string, error) {
	return place(env, runtime.GOOS, "XDG_STATE_HOME", "")
}

// place joins the folder that a variable of the XDG base directories names with
// treering's own and a file. A relative one counts as not set, as the
// specification wants it.
func place(env Environ, goos, variable, file string) (string, error) {
	if dir := env.Get(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "treering", file), nil
	}
	switch goos {
	case "windows":
		// Only the configuration roams with its user.
		from := "LOCALAPPDATA"
		if variable == "XDG_CONFIG_HOME" {
			from = "APPDATA"
		}
		dir := env.Get(from)
		if dir == "" {
			return "", errors.New("there is no default place: neither " + variable + " nor " + from + " is set")
		}
		if variable == "XDG_STATE_HOME" {
			file = "state"
		}
		return filepath.Join(dir, "treering", file), nil
	case "darwin", "ios":
		home := env.Get("HOME")
		if home == "" {
			return "", errors.New("there is no default place: neither " + variable + " nor HOME is set")
		}
		if variable == "XDG_STATE_HOME" {
			file = "state"
		}
		return filepath.Join(home, "Library", "Application Support", "treering", file), nil
	}
	home := env.Get("HOME")
	if home == "" {
		return "", errors.New("there is no default place: neither " + variable + " nor HOME is set")
	}
	below := map[string]string{"XDG_DATA_HOME": ".local/share", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}[variable]
	return filepath.Join(home, filepath.FromSlash(below), "treering", file), nil
}
