//go:build !linux && !windows

package sqlite

// fileEvents are what the system tells of folders: here nothing. What these systems
// offer would open the database, its log and its index and close them again, and with
// that give up the locks of every connection of this process.
type fileEvents struct{}

func openEvents() (*fileEvents, string) {
	return nil, "this system tells of files only to who opens them"
}

func (*fileEvents) add(string) string    { return "" }
func (*fileEvents) forget([]string)      {}
func (*fileEvents) covers([]string) bool { return false }
func (*fileEvents) next() (string, bool) { return "", false }
func (*fileEvents) close()               {}
