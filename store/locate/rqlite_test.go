package locate

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"treering/store"
)

func TestOpenRqliteRefuses(t *testing.T) {
	var given string
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ = r.BasicAuth()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer denying.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	t.Setenv("RQLITE_PASSWORD", "hunter2")
	for _, tt := range []struct {
		locator string
		o       Options
		is      error
		says    string
	}{
		{"rqlite://ana:hunter2@127.0.0.1:1?timeout=100ms", Options{}, store.ErrStoreNotFound, "127.0.0.1:1"},
		{"rqlite://ana:hunter2@one/database", Options{}, store.ErrStoreNotFound, "ends with the nodes"},
		{"rqlite://ana:hunter2@one?tsl=true", Options{}, store.ErrStoreNotFound, `"tsl"`},
		{"rqlite://ana:hunter2@one", Options{Create: true}, store.ErrReadOnly, "--rw --create"},
		{"rqlite://ana@" + host(denying), Options{}, nil, "refuses the user"},
		{"rqlite://" + host(other), Options{}, store.ErrNotAStore, "no rqlite node"},
	} {
		_, err := Open(t.Context(), tt.locator, tt.o)
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
			t.Errorf("%s: %v", Redact(tt.locator), err)
		}
	}
	if given != "hunter2" {
		t.Errorf("the password from the environment arrived as %q", given)
	}
}
