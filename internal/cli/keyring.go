package cli

import (
	"strings"
	"sync"

	"treering/store/locate"
)

// keyring is the locators with credentials that were given to this run. What is
// shown and kept of a locator has none, so that going back to such a store, or
// quoting it, needs them.
type keyring struct {
	mu   sync.Mutex
	full map[string]string // by what is shown of them
}

// add remembers a locator that holds credentials.
func (k *keyring) add(locator string) {
	shown := locate.Redact(locator)
	if shown == locator {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.full == nil {
		k.full = map[string]string{}
	}
	k.full[shown] = locator
}

// whole is the locator as it was given.
func (k *keyring) whole(locator string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if full, ok := k.full[locator]; ok {
		return full
	}
	return locator
}

// hide takes the credentials out of a text that quotes one of the locators.
func (k *keyring) hide(text string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, full := range k.full {
		text = locate.RedactIn(text, full)
	}
	return text
}

// given remembers what the command line and the environment name, before anything can
// quote it.
func (k *keyring) given(args []string, env locate.Environ) {
	for _, arg := range append([]string{env.Get("TREERING_STORE")}, args...) {
		k.add(arg)
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		// A flag and its value in one argument, and what is mistaken for a flag, of
		// which errors quote what stands before the first equals sign.
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		k.add(name)
		k.add(value)
		k.add(strings.TrimPrefix(arg, "-s"))
	}
}
