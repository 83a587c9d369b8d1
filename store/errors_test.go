package store_test

import (
	"context"
	"errors"
	"testing"

	"treering/store"
)

func TestErrors(t *testing.T) {
	found := int64(7)
	for _, tc := range []struct {
		err  error
		is   error
		text string
	}{
		{&store.NotFoundError{What: "execution", ID: "e\n"}, store.ErrNotFound, `execution "e\n" not found`},
		{&store.NotFoundError{What: "node", ID: "n", In: "s"}, store.ErrNotFound, `node "n" not found in session "s"`},
		{&store.ConflictError{ID: "e", Expected: 3, Found: &found}, store.ErrConflict, `execution "e": expected version 3, found 7; reload it and try again`},
		{&store.ConflictError{ID: "e", Expected: 3}, store.ErrConflict, `execution "e": expected version 3, but it is not in the store`},
		{&store.NodeConflictError{Session: "s", Node: "n", Reason: store.ReasonData}, store.ErrNodeConflict, `node "n" of session "s": it is stored with other data`},
		{&store.KindMismatchError{Session: "s", Stored: "a", Given: "b"}, store.ErrKindMismatch, `session "s" is of kind "a", not "b"`},
		{&store.StateError{ID: "e", Command: "resume", Status: store.Done}, store.ErrWrongState, `cannot resume execution "e": it is DONE`},
		{&store.ValueError{Field: "ttl", Reason: "is odd", Err: store.ErrBadTTL}, store.ErrBadTTL, `ttl: is odd`},
		{&store.RowError{Table: "outbox", Key: "7", Err: store.ErrNotObject}, store.ErrNotObject, `outbox row "7" cannot be read: not a JSON object`},
	} {
		if !errors.Is(tc.err, tc.is) || tc.err.Error() != tc.text {
			t.Errorf("%T: %v (is %v)", tc.err, tc.err, errors.Is(tc.err, tc.is))
		}
	}
	err := store.OutcomeUnknown(context.DeadlineExceeded)
	if !errors.Is(err, store.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
