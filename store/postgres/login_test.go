package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A password comes from the URL, the environment, a password file or a service file,
// as libpq's does, and is in no error, wherever it came from.
func TestWhereThePasswordComesFrom(t *testing.T) {
	s := server(t)
	const password, wrong = `hunter2 %/'#`, "wr0ng-hunter2"
	s.Login(t, "keeper", password)
	host, port, err := net.SplitHostPort(s.Addr())
	must(t, err)
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	services := file("services", fmt.Sprintf("[fleet]\nhost=%s\nport=%s\nuser=keeper\ndbname=postgres\npassword=%s\n\n[open]\nhost=%[1]s\nport=%[2]s\nuser=keeper\ndbname=postgres\n", host, port, password))
	passfile := file("pgpass", "# of ours\nother:*:*:keeper:no\n"+host+":"+port+":*:keeper:"+password+"\n")
	badfile := file("badpass", "*:*:*:*:"+wrong+"\n")
	plain := s.URLOf("keeper", nil)
	with := func(text string) string {
		u, err := url.Parse(plain)
		must(t, err)
		u.User = url.UserPassword("keeper", text)
		return u.String()
	}
	for _, tt := range []struct {
		name, at string
		env      map[string]string
		opens    bool
	}{
		{"nothing", plain, nil, false},
		{"the URL", with(password), nil, true},
		{"the URL's parameter", plain + "?password=" + url.QueryEscape(password), nil, true},
		{"PGPASSWORD", plain, map[string]string{"PGPASSWORD": password}, true},
		{"the URL before PGPASSWORD", with(password), map[string]string{"PGPASSWORD": wrong}, true},
		{"PGPASSFILE", plain, map[string]string{"PGPASSFILE": passfile}, true},
		{"passfile", plain + "?passfile=" + url.QueryEscape(passfile), nil, true},
		{"PGSERVICEFILE and PGSERVICE", "postgres://", map[string]string{"PGSERVICEFILE": services, "PGSERVICE": "fleet"}, true},
		{"servicefile and service", "postgres://?service=fleet&servicefile=" + url.QueryEscape(services), nil, true},
		{"a service, and PGPASSFILE", "postgres://?service=open", map[string]string{"PGSERVICEFILE": services, "PGPASSFILE": passfile}, true},
		{"the variables alone", "postgres://", map[string]string{"PGHOST": host, "PGPORT": port, "PGUSER": "keeper", "PGDATABASE": "postgres", "PGPASSWORD": password}, true},
		{"a wrong one in the URL", with(wrong), nil, false},
		{"a wrong one in PGPASSWORD", plain, map[string]string{"PGPASSWORD": wrong}, false},
		{"a wrong one in PGPASSFILE", plain, map[string]string{"PGPASSFILE": badfile}, false},
		{"a service that is not there", "postgres://?service=" + wrong, map[string]string{"PGSERVICEFILE": services}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("HOME", dir) // no files of whoever runs this
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			db, err := Open(t.Context(), Options{URL: tt.at, ReadWrite: true})
			var nothing *NothingError
			if opened := err == nil || errors.As(err, &nothing); opened != tt.opens {
				t.Errorf("opened %t: %v", opened, err)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if containsPassword(e.Error()) && !strings.Contains(tt.name, "service that is not") {
					t.Errorf("the error tells it: %v", e)
				}
			}
			if err == nil {
				must(t, db.Close())
			}
		})
	}
}
