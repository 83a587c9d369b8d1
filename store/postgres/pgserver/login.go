package pgserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Login makes a superuser who has to give a password, and only he has to.
func (s *Server) Login(t tb, user, password string) {
	t.Helper()
	s.Exec(t, fmt.Sprintf("CREATE ROLE %s LOGIN SUPERUSER PASSWORD '%s'", user, strings.ReplaceAll(password, "'", "''")))
	path := filepath.Join(s.data(), "pg_hba.conf")
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rules = append([]byte(fmt.Sprintf("host all %s all scram-sha-256\nlocal all %[1]s scram-sha-256\n", user)), rules...)
	if err := os.WriteFile(path, rules, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "SELECT pg_reload_conf()")
}
