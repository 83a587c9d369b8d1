package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExactTextsAreEqualForEqualScalarsOnly(t *testing.T) {
	scalars := []JSON{
		`0`, `-0`, `0.0e7`, `1`, `1.0`, `10e-1`, `0.1e1`, `-1`, `100`, `1e2`, `1e17`, `100000000000000000`, `1e18`, `1000000000000000000`,
		`0.5`, `5e-1`, `50e-2`, `12345678901234567890`, `1234567890123456789e1`, `1e400`, `1e-400`, `1e99999999999999999999`,
		`""`, `"1"`, `"a"`, `"\u0061"`, `"\ud800"`, `"\ud801"`, `"\ufffd"`, `"\ud83d\ude00"`, `"😀"`, `true`, `false`, `null`, `NaN`, `Infinity`,
	}
	exact := func(j JSON) string {
		d, err := ParseDoc(j)
		if err != nil {
			t.Fatal(err)
		}
		return d.Kind(0).String() + " " + d.Exact(0)
	}
	for _, a := range scalars {
		for _, b := range scalars {
			if same := exact(a) == exact(b); same != Equal(a, b) {
				t.Errorf("%s and %s: %q and %q, equal %v", a, b, exact(a), exact(b), Equal(a, b))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`)
		a, b := JSON(number.Draw(t, "a")), JSON(number.Draw(t, "b"))
		if same := exact(a) == exact(b); same != Equal(a, b) {
			t.Fatalf("%s and %s: %v", a, b, same)
		}
	})
}

func TestParsingStopsOnceNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	long := JSON("[" + strings.Repeat("1,", 1<<15) + "1]")
	d, err := ParseDocContext(ctx, long)
	if err != nil || d.Source() != long {
		t.Fatal(err)
	}
	if start, end := d.Span(2); start != 3 || end != 4 {
		t.Errorf("the second element is at %d to %d", start, end)
	}
	cancel()
	if _, err := ParseDocContext(ctx, long); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
