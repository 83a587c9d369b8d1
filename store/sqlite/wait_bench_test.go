package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

func init() { childRoles["tick"] = childTick }

// childTick commits so many rows with so many microseconds between them, and prints
// the time after each. Its arguments: path, commits, microseconds.
func childTick(args []string) error {
	commits, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	micros, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	conn, err := sqlite.OpenConn(args[0], sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	conn.SetBusyTimeout(5 * time.Second)
	fmt.Println("ready")
	for n := range commits {
		// Not in step with anything.
		time.Sleep(time.Duration(micros+n*7919%1000) * time.Microsecond)
		if err := run(conn, insert); err != nil {
			return err
		}
		fmt.Println(time.Now().UnixNano())
	}
	return conn.Close()
}

// BenchmarkNotice is from the return of another process's commit, with a full
// synchronisation to the disk, to the return of the wait.
func BenchmarkNotice(b *testing.B) {
	path := database(b, "wal")
	keep := writerProcess(b, path, insert) // the log stays
	defer keep.close()
	f := open(b, Options{Path: path})
	token, err := f.Wait(context.Background(), "")
	if err != nil {
		b.Fatal(err)
	}
	commits := b.N
	w := child(b, "tick", path, strconv.Itoa(commits), "20000")
	w.line()
	var took []time.Duration
	for range commits {
		if token, err = f.Wait(context.Background(), token); err != nil {
			b.Fatal(err)
		}
		noticed := time.Now()
		nanos, err := strconv.ParseInt(strings.TrimSpace(w.line()), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, noticed.Sub(time.Unix(0, nanos)))
	}
	slices.Sort(took)
	at := func(percent int) float64 { return float64(took[len(took)*percent/100].Microseconds()) }
	b.ReportMetric(at(50), "p50-us")
	b.ReportMetric(at(99), "p99-us")
	b.ReportMetric(0, "ns/op")
}
