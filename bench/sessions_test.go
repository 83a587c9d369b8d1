package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"treering/store"
	sessions "treering/store/foreign"
	"treering/store/locate"
)

// sessionLines is the length of a session that is long and happens.
const sessionLines = 1_000_000

// writeSession writes a session file of pi's of so many entries, a fork every thousand.
func writeSession(b *testing.B, entries int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "session.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"big","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}`)
	thought, output := strings.Repeat("let me think ", 20), strings.Repeat(`a line of output\n`, 20)
	for i := range entries {
		parent := "null"
		if i > 0 {
			parent = fmt.Sprintf(`"%08x"`, max(i-1-(i%1000/999)*5, 0))
		}
		message := `{"role":"user","content":"look at the next part and say what it is"}`
		switch i % 4 {
		case 1:
			message = `{"role":"assistant","content":[{"type":"thinking","thinking":"` + thought + `"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"make -j2"}}],"model":"big","usage":{"input":100,"output":20,"cost":{"total":0.001}},"stopReason":"toolUse"}`
		case 2:
			message = `{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"` + output + `"}],"isError":false}`
		case 3:
			message = `{"role":"assistant","content":[{"type":"text","text":"that was it"}],"model":"big","usage":{"input":100,"output":20,"cost":{"total":0.001}},"stopReason":"stop"}`
		}
		fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-01T10:00:00.000Z","message":%s}`+"\n", i, parent, message)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkSession opens a session file of a million lines: the time to the first page
// of its tree, to the last one, what is kept of it, and a page in its middle.
func BenchmarkSession(b *testing.B) {
	path := writeSession(b, sessionLines)
	for b.Loop() {
		before := heapBytes()
		start := time.Now()
		o, err := locate.Open(b.Context(), path, locate.Options{})
		if err != nil {
			b.Fatal(err)
		}
		page, _, err := o.Foreign.PreviewOutline(b.Context(), "big", store.PageRequest{Limit: 100})
		if err != nil || len(page.Items) == 0 {
			b.Fatal(len(page.Items), err)
		}
		first := time.Since(start)
		n, err := o.Foreign.CountNodes(b.Context(), "big")
		if err != nil || n != sessionLines+1 {
			b.Fatal(n, err)
		}
		whole := time.Since(start)
		kept := heapBytes() - before
		b.ReportMetric(first.Seconds()*1e3, "ms/first-rows")
		b.ReportMetric(whole.Seconds()*1e3, "ms/whole")
		b.ReportMetric(float64(kept)/1e6, "MB/kept")
		b.ReportMetric(pageTime(b, o.Foreign).Seconds()*1e3, "ms/page")
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// pageTime is how long a page of a hundred takes, the mean of those that follow the
// middle.
func pageTime(b *testing.B, s *sessions.Store) time.Duration {
	b.Helper()
	const pages = 50
	req := store.PageRequest{Limit: 1000}
	for range 10 {
		page, err := s.ListOutline(b.Context(), "big", req)
		if err != nil {
			b.Fatal(err)
		}
		req.Cursor = page.Next
	}
	req.Limit = 100
	start := time.Now()
	for range pages {
		page, err := s.ListOutline(b.Context(), "big", req)
		if err != nil {
			b.Fatal(err)
		}
		req.Cursor = page.Next
	}
	return time.Since(start) / pages
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
