package sqlite

import "strings"

// remoteFolder says why what happens in a folder is not all told, "" where it is.
func remoteFolder(folder string) string {
	if strings.HasPrefix(folder, `\\`) && !strings.HasPrefix(folder, `\\?\`) {
		return "it lies on another machine, which does not tell of all writers"
	}
	return ""
}
