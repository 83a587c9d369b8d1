package locate

import (
	"context"
	"errors"

	"treering/store"
)

// server is what an open store on a server tells of itself.
type server interface {
	// How says how and why it is open at this moment.
	How() (how, why string)
	// Count counts the executions of every set and the live sessions; sessions is nil
	// where there are no tables for them.
	Count(ctx context.Context) (sets []Set, sessions *int64, err error)
}

// armed reports whether a server is opened for writing, which is never done unasked:
// others may work on it, whoever has made what is there. Nor is anything made there
// without that.
func armed(t target, o Options) (write bool, err error) {
	write = o.ReadWrite && !o.ReadOnly
	if o.Create && !write {
		return false, &LocatorError{t.shown, "a store is made on a server by what writes, with --rw --create", store.ErrReadOnly}
	}
	return write, nil
}

// withoutSecrets is an error that says what err says with the credentials of the
// locator taken out, wherever they stand.
func withoutSecrets(err error, locator string) error {
	if err == nil {
		return nil
	}
	if text := RedactIn(err.Error(), locator); text != err.Error() {
		return &redactedError{text, err}
	}
	return err
}

// redactedError matches what err matches, and does not lead to what quotes a secret.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }
