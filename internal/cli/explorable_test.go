package cli

import (
	"strings"
	"testing"

	"treering/store"
	"treering/store/locate"
)

// onlyQueues is a transport that nobody asks anything.
type onlyQueues struct{ store.Transport }

// The explorer shows executions and trees; of queues alone it would show nothing.
func TestExplorable(t *testing.T) {
	if _, err := explorable(&locate.Opened{Transport: onlyQueues{}, Info: locate.Info{Locator: "queues.db"}}); err == nil || !strings.Contains(err.Error(), "treering transport") {
		t.Errorf("queues alone: %v", err)
	}
	unchosen := &locate.Opened{Transport: onlyQueues{}, Info: locate.Info{Sets: []locate.Set{{Prefix: "a"}, {Prefix: "b"}}}}
	if _, err := explorable(unchosen); err != nil {
		t.Errorf("several sets of which none is open: %v", err)
	}
}
