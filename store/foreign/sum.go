package foreign

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"reflect"
)

// sum tells texts apart, in the order in which they are added.
type sum struct{ h uint64 }

func newSum() *sum { return &sum{} }

func (s *sum) add(texts ...string) {
	for _, t := range texts {
		s.h = s.h*0x100000001b3 ^ SumOf(t)
	}
}

func (s *sum) String() string { return fmt.Sprintf("%016x", s.h) }

// SumOf is a sum of a text, the same in every run.
func SumOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // a hash takes everything
	return h.Sum64()
}

// identity names the file that an info is of, where the system has such names.
func identity(info os.FileInfo) string {
	v := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if v.Kind() != reflect.Struct {
		return ""
	}
	if ino := v.FieldByName("Ino"); ino.IsValid() && ino.CanUint() {
		return fmt.Sprint(ino.Uint())
	}
	return ""
}

func identityOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return identity(info), nil
}
