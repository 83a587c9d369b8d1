package demo_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store"
)

func TestSessions(t *testing.T) {
	_, ts := seeded(t)
	var got []string
	for _, s := range sessions(t, ts) {
		got = append(got, s.ID+" "+s.Kind)
		if (s.ExpiresAt != nil) != (s.ID == "preview") {
			t.Errorf("%s expires at %v", s.ID, s.ExpiresAt)
		}
	}
	want := []string{"aurora session", "preview session", "uploads upload-cache", "web-image docker-build"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("live sessions (-want +got):\n%s", diff)
	}
	preview, err := ts.Session(t.Context(), "preview")
	if err != nil {
		t.Fatal(err)
	}
	if left := *preview.ExpiresAt - float64(clock.UnixMicro())/1e6; left != 6*3600 {
		t.Errorf("preview lives for %v s more, want six hours", left)
	}
}

func TestExpiredTreeIsInvisible(t *testing.T) {
	_, ts := seeded(t)
	if _, err := ts.Session(t.Context(), "scratch"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Session: %v, want ErrNotFound", err)
	}
	if _, err := ts.Node(t.Context(), "scratch", "scratch-00"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Node: %v, want ErrNotFound", err)
	}
	if n, err := ts.PurgeExpired(t.Context()); err != nil || n != 1 {
		t.Errorf("purged %d, %v; want the one", n, err)
	}
}

func TestSandboxBranches(t *testing.T) {
	_, ts := seeded(t)
	if diff := cmp.Diff([]string{"ana-01", "bo-01", "cy-01"}, children(t, ts, "aurora", "base-04")); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bo-lto-01", "bo-native-01"}, children(t, ts, "aurora", "bo-02")); diff != "" {
		t.Errorf("experiments (-want +got):\n%s", diff)
	}
	straight := 0
	for at := "cy-01"; ; straight++ {
		next := children(t, ts, "aurora", at)
		if len(next) != 1 {
			break
		}
		at = next[0]
	}
	if straight < 40 {
		t.Errorf("cy's straight run has %d steps, want at least 40", straight)
	}
	history := all(t, func(p store.PageRequest) (store.Page[store.Node], error) {
		return ts.ListHistory(t.Context(), "aurora", "bo-native-03", p)
	})
	var path []string
	for _, n := range history {
		path = append(path, n.ID)
	}
	want := []string{"bo-native-03", "bo-native-02", "bo-native-01", "bo-02", "bo-01", "base-04", "base-03", "base-02", "base-01", "base-00"}
	if diff := cmp.Diff(want, path); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if title := history[0].Title(); title != "winner: 58,900 ops/s" {
		t.Errorf("title %q", title)
	}
	failed, err := ts.Node(t.Context(), "aurora", "bo-lto-05")
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := failed.Data.Get("exit_code").Int64(); code != 1 || failed.Data.Get("image_uuid") != "" {
		t.Errorf("the failed run: %s", failed.Data)
	}
}

func TestOperationsAndTheirCompletions(t *testing.T) {
	_, ts := seeded(t)
	got, err := ts.Nodes(t.Context(), "aurora", []string{"ana-02", "ana-03", "ana-05"})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range got {
		if n == nil {
			t.Fatalf("node %d is missing", i)
		}
	}
	if got[0].Kind != "operation" || got[1].Kind != "completion" || got[0].Data.Get("operation_uuid") != got[1].Data.Get("operation_uuid") {
		t.Errorf("operation %s and completion %s do not belong together", got[0].Data, got[1].Data)
	}
	if got[1].Data.Get("image_uuid") == "" || got[1].Data.Get("response") == "" || got[1].Data.Get("staging_complete") != "true" {
		t.Errorf("completion %s", got[1].Data)
	}
	if below := children(t, ts, "aurora", "ana-05"); below != nil {
		t.Errorf("the pending operation has %v below it", below)
	}
}

func TestNodesAreWellFormed(t *testing.T) {
	_, ts := seeded(t)
	total := 0
	for _, s := range sessions(t, ts) {
		for _, n := range nodes(t, ts, s.ID) {
			total++
			if err := n.Check(); err != nil {
				t.Errorf("%s %s: %v", s.ID, n.ID, err)
			}
			if created, ok := n.Data.Get("created_at").Text(); !ok || created > "2026-06-04T11:02:00.500000Z" {
				t.Errorf("%s %s was made at %q", s.ID, n.ID, created)
			}
		}
	}
	if total != 119 {
		t.Errorf("%d nodes, want 119", total)
	}
}
