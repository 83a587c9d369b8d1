package term

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic that was caught, so that the terminal can be put back
// before anybody is told.
type PanicError struct {
	// Value is what was panicked with.
	Value any
	// Stack is where, as [debug.Stack] words it: several lines.
	Stack string
}

// Error implements error. The stack is not part of it.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Caught makes an error of what recover returned. It is to be called by the
// deferred function itself, for the stack is that of the caller.
func Caught(value any) *PanicError { return &PanicError{Value: value, Stack: string(debug.Stack())} }

// Go runs fn in a goroutine of its own. A panic in it does not end the process:
// failed is given a [*PanicError], in that goroutine.
func Go(fn func(), failed func(error)) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				failed(Caught(v))
			}
		}()
		fn()
	}()
}
