//go:build !linux

package pgserver

import "errors"

// SmallDisk is an error: there is no such disk here.
func (s *Server) SmallDisk(tb, string, int64) error {
	return errors.New("no small disk can be made on this system")
}
