package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"treering/store"
)

// sessionIDs lists the demo's trees. The last one has expired.
func sessionIDs() []string {
	return []string{"aurora", "web-image", "uploads", "preview", "scratch"}
}

func seedTrees(ctx context.Context, ts store.TreeStore, now time.Time, seed int64) error {
	d := newDice(seed, 2)
	hour := 3600.0
	for _, tree := range []struct {
		id, kind string
		ttl      *float64
		expire   bool
		grow     func(*grower)
	}{
		{"aurora", "session", nil, false, growSandbox},
		{"web-image", "docker-build", nil, false, growWebImage},
		{"uploads", "upload-cache", nil, false, growUploads},
		{"preview", "session", store.Seconds(6 * hour), false, growPreview},
		{"scratch", "session", nil, true, growScratch},
	} {
		if _, err := ts.CreateSession(ctx, tree.id, tree.kind, tree.ttl); err != nil {
			return err
		}
		g := &grower{ctx: ctx, ts: ts, session: tree.id, dice: d, now: now}
		tree.grow(g)
		if g.err != nil {
			return g.err
		}
		// A tree that has expired takes no more nodes, so it is filled first.
		if tree.expire {
			if _, err := ts.SetSessionTTL(ctx, tree.id, store.Seconds(0)); err != nil {
				return err
			}
		}
	}
	return nil
}

// grower appends to one tree. After the first error, which it keeps, it does
// nothing more.
type grower struct {
	ctx     context.Context
	ts      store.TreeStore
	session string
	dice    dice
	now     time.Time
	err     error
}

// tip is a position in the tree and the time it was reached.
type tip struct {
	node  string
	image string
	at    time.Time
}

// add appends one node under a parent, or the root.
func (g *grower) add(parent *tip, id, kind string, at time.Time, data fields) {
	if g.err != nil {
		return
	}
	n := store.Node{ID: id, Kind: kind, Data: object(append(data, store.Member{Key: "created_at", Value: iso(at)}))}
	if parent != nil {
		n.ParentID = &parent.node
	}
	if at.After(g.now) {
		g.err = fmt.Errorf("node %s would be made %v in the future", id, at.Sub(g.now))
		return
	}
	if err := g.ts.Append(g.ctx, g.session, n); err != nil {
		g.err = err
	}
}

// root begins the tree with an image.
func (g *grower) root(id, image string, ago time.Duration) tip {
	t := tip{node: id, image: g.dice.uuid(), at: g.now.Add(-ago)}
	g.add(nil, id, "init", t.at, fields{{Key: "image", Value: text(image)}, {Key: "image_uuid", Value: text(t.image)}, {Key: "title", Value: text("from " + image)}})
	return t
}

// run is one command in a sandbox.
type run struct {
	id, command string
	took        time.Duration
	idle        time.Duration // before it, since the node above
	exit        int
	label       string // what its actor calls it
	actor       string
	output      string // the last line
}

// run appends a command under a tip and returns the new tip. A command that
// failed leaves no image; the next one goes on from the image above.
func (g *grower) run(from tip, r run) tip {
	took := g.dice.about(r.took)
	to := tip{node: r.id, image: from.image, at: from.at.Add(g.dice.about(r.idle) + took)}
	data := fields{{Key: "command", Value: text(r.command)}}
	if r.exit == 0 {
		to.image = g.dice.uuid()
		data = append(data, store.Member{Key: "image_uuid", Value: text(to.image)})
	}
	data = append(data, fields{
		{Key: "operation_uuid", Value: text(g.dice.uuid())}, {Key: "exit_code", Value: number(r.exit)},
		{Key: "duration", Value: decimal(took.Seconds(), 3)},
	}...)
	if r.output != "" {
		stream := "stdout_tail"
		if r.exit != 0 {
			stream = "stderr_tail"
		}
		data = append(data, store.Member{Key: stream, Value: text(r.output)})
	}
	if user := userData(r.actor, r.label); user != "" {
		data = append(data, store.Member{Key: "user", Value: user})
	}
	g.add(&from, r.id, "run", to.at, data)
	return to
}

func userData(actor, label string) store.JSON {
	var user fields
	if label != "" {
		user = append(user, store.Member{Key: "label", Value: text(label)})
	}
	if actor != "" {
		user = append(user, store.Member{Key: "actor", Value: text(actor)})
	}
	if user == nil {
		return ""
	}
	return object(user)
}

// growSandbox is the tree in which three actors branch from one node: cy walks a
// long straight way, bo tries two experiments of which one wins, ana has left an
// operation running and picked up the completion of another.
func growSandbox(g *grower) {
	t := g.root("base-00", "debian:13", 7*time.Hour)
	for _, r := range []run{
		{id: "base-01", command: "apt-get update", took: 6 * time.Second},
		{id: "base-02", command: "apt-get install -y git clang make python3-pytest", took: 48 * time.Second, output: "Setting up python3-pytest ..."},
		{id: "base-03", command: "git clone --depth 1 https://git.example/aurora.git /src", took: 9 * time.Second},
		{id: "base-04", command: "make -C /src deps", took: 31 * time.Second, label: "dependencies ready"},
	} {
		r.idle = 4 * time.Second
		t = g.run(t, r)
	}
	g.growCy(t)
	g.growBo(t)
	g.growAna(t)
}

// growCy ports one test module after the other.
func (g *grower) growCy(t tip) {
	modules := strings.Fields(`args auth backup batch cache chunk cli clock codec config cursor diff digest dispatch errors export
		filter flags frame graph hash history import index journal json keys lease limits lock log merge node outbox page parse
		plan pool prefix purge query queue relay replay retry ring schema session spawn store timer trace tree ttl watch`)
	for i, m := range modules {
		r := run{
			id: fmt.Sprintf("cy-%02d", i+1), actor: "cy", idle: 70 * time.Second, took: 8 * time.Second,
			command: fmt.Sprintf("tools/port --check tests/test_%s.py", m),
			output:  fmt.Sprintf("%d passed", g.dice.between(3, 40)),
		}
		switch {
		case i == 0:
			r.label = "port the tests, one module at a time"
		case i == len(modules)-1:
			r.label = "all modules ported"
		}
		t = g.run(t, r)
	}
}

// growBo measures, then tries link-time optimisation, which fails, and tuning for
// the processor, which wins.
func (g *grower) growBo(t tip) {
	bo := func(from tip, id, command string, took time.Duration, label, output string, exit int) tip {
		return g.run(from, run{id: id, actor: "bo", command: command, took: took, idle: 50 * time.Second, label: label, output: output, exit: exit})
	}
	t = bo(t, "bo-01", "make -C /src -j2", 74*time.Second, "", "Linking aurora", 0)
	t = bo(t, "bo-02", "make -C /src bench", 92*time.Second, "baseline: 41,200 ops/s", "bench: 41,200 ops/s", 0)

	lto := bo(t, "bo-lto-01", "make -C /src clean", 2*time.Second, "experiment: -O3 -flto", "", 0)
	lto = bo(lto, "bo-lto-02", "make -C /src -j2 CFLAGS='-O3 -flto'", 203*time.Second, "", "ld.lld: error: undefined symbol: aurora_tls_init", 2)
	lto = bo(lto, "bo-lto-03", "sed -i s/static.inline/static/ /src/net/tls.h", time.Second, "", "", 0)
	lto = bo(lto, "bo-lto-04", "make -C /src -j2 CFLAGS='-O3 -flto'", 211*time.Second, "", "", 0)
	bo(lto, "bo-lto-05", "make -C /src check", 66*time.Second, "gave up: 3 tests fail", "FAIL: 3 of 1184 (tls_resume, quic_0rtt, wal_torn)", 1)

	native := bo(t, "bo-native-01", "make -C /src -j2 CFLAGS='-O2 -march=native'", 81*time.Second, "experiment: -march=native", "Linking aurora", 0)
	native = bo(native, "bo-native-02", "make -C /src check", 64*time.Second, "", "1184 passed", 0)
	native = bo(native, "bo-native-03", "make -C /src bench", 90*time.Second, "winner: 58,900 ops/s", "bench: 58,900 ops/s", 0)
	bo(native, "bo-native-04", "git -C /src commit -am 'Tune for the build machine'", time.Second, "", "1 file changed, 1 insertion(+), 1 deletion(-)", 0)
}

// growAna leaves work behind and comes back for it: an operation and its completion
// are nodes of their own.
func (g *grower) growAna(t tip) {
	t = g.run(t, run{id: "ana-01", actor: "ana", command: "make -C /src fuzz", took: 55 * time.Second, idle: 20 * time.Second})
	done, op := g.operation(t, "ana-02", "timeout 3600 /src/fuzz/parse -jobs=2", "fuzz the parser for an hour", "ana")
	took := g.dice.about(time.Hour)
	done = g.completion(done, op, "ana-03", took, 0, "no crash in 18,204,511 executions")
	done = g.run(done, run{id: "ana-04", actor: "ana", command: "tar caf /out/corpus.tar.zst /src/fuzz/corpus", took: 12 * time.Second, idle: 9 * time.Minute, label: "corpus saved"})
	pending, _ := g.operation(done, "ana-05", "timeout 86400 /src/fuzz/quic -jobs=2", "fuzz QUIC for a day", "ana")
	// While it runs, ana goes on from the same node.
	g.run(tip{node: done.node, image: done.image, at: pending.at}, run{
		id: "ana-06", actor: "ana", command: "python3 fuzz/minimise.py corpus/", took: 5 * time.Minute, idle: time.Minute, output: "412 of 3,908 inputs kept",
	})
}

// operation appends the registration of work that goes on by itself.
func (g *grower) operation(from tip, id, command, label, actor string) (at tip, operation string) {
	operation = g.dice.uuid()
	at = tip{node: id, image: from.image, at: from.at.Add(g.dice.about(15 * time.Second))}
	g.add(&from, id, "operation", at.at, fields{
		{Key: "command", Value: text(command)}, {Key: "operation_uuid", Value: text(operation)}, {Key: "status", Value: text("pending")},
		{Key: "source_image_uuid", Value: text(from.image)}, {Key: "user", Value: userData(actor, label)},
	})
	return at, operation
}

// completion appends the end of an operation: the response and the image it kept.
func (g *grower) completion(from tip, operation, id string, took time.Duration, exit int, output string) tip {
	to := tip{node: id, image: g.dice.uuid(), at: from.at.Add(took)}
	g.add(&from, id, "completion", to.at, fields{
		{Key: "title", Value: text("completed: " + output)}, {Key: "operation_uuid", Value: text(operation)},
		{Key: "image_uuid", Value: text(to.image)}, {Key: "staging_complete", Value: boolean(true)},
		{Key: "response", Value: object(fields{
			{Key: "status", Value: text("finished")}, {Key: "exit_code", Value: number(exit)},
			{Key: "duration", Value: decimal(took.Seconds(), 3)}, {Key: "stdout_tail", Value: text(output)},
		})},
	})
	return to
}

// growWebImage is an image built in two stages, once more after an edit.
func growWebImage(g *grower) {
	type instruction struct {
		id, kind, text string
		took           time.Duration
	}
	var at time.Time
	add := func(parent string, in instruction) string {
		at = at.Add(g.dice.about(in.took))
		data := fields{{Key: "label", Value: text(in.text)}, {Key: "docker_hash", Value: text(g.dice.digest())}}
		if in.kind == "run" || in.kind == "use" {
			data = append(data, store.Member{Key: "image_uuid", Value: text(g.dice.uuid())})
		}
		if in.kind == "run" {
			data = append(data, store.Member{Key: "duration", Value: decimal(in.took.Seconds(), 3)}, store.Member{Key: "exit_code", Value: number(0)})
		}
		g.add(&tip{node: parent}, in.id, in.kind, at, data)
		return in.id
	}
	chain := func(parent string, steps ...instruction) string {
		for _, in := range steps {
			parent = add(parent, in)
		}
		return parent
	}
	root := tip{node: "dockerfile", at: g.now.Add(-3 * time.Hour)}
	at = root.at
	g.add(nil, root.node, "init", at, fields{{Key: "title", Value: text("web/Dockerfile")}, {Key: "context", Value: object(fields{{Key: "files", Value: number(318)}, {Key: "bytes", Value: number(2841977)}})}})

	deps := chain(root.node,
		instruction{"build-00", "use", "FROM golang:1.26 AS build", time.Second},
		instruction{"build-01", "config", "WORKDIR /src", 10 * time.Millisecond},
		instruction{"build-02", "stage", "COPY go.mod go.sum ./", 40 * time.Millisecond},
		instruction{"build-03", "run", "RUN go mod download", 19 * time.Second})
	chain(deps,
		instruction{"build-04a", "stage", "COPY . .", 200 * time.Millisecond},
		instruction{"build-05a", "run", "RUN go vet ./...", 17 * time.Second},
		instruction{"build-06a", "run", "RUN CGO_ENABLED=0 go build -o /web ./cmd/web", 38 * time.Second})
	chain(root.node,
		instruction{"final-00", "use", "FROM gcr.io/distroless/static", time.Second},
		instruction{"final-01", "stage", "COPY --from=build /web /web", 90 * time.Millisecond},
		instruction{"final-02", "config", "ENV PORT=8080", 10 * time.Millisecond},
		instruction{"final-03", "config", "USER 65532", 10 * time.Millisecond},
		instruction{"final-04", "config", "ENTRYPOINT [\"/web\"]", 10 * time.Millisecond})
	at = at.Add(g.dice.about(50 * time.Minute))
	chain(deps,
		instruction{"build-04b", "stage", "COPY . .   (2 files changed)", 200 * time.Millisecond},
		instruction{"build-05b", "run", "RUN go vet ./...", 5 * time.Second},
		instruction{"build-06b", "run", "RUN CGO_ENABLED=0 go build -o /web ./cmd/web", 11 * time.Second})
}

// growUploads is a flat tree: one child for each file that was uploaded once.
func growUploads(g *grower) {
	root := g.root("uploads", "upload cache", 30*time.Hour)
	at := root.at
	for i, name := range strings.Fields(`Makefile go.mod go.sum main.go config/dev.toml config/prod.toml data/airports.csv data/fares.parquet
		data/holidays.json docs/guide.md docs/logo.svg fixtures/small.tar.zst fixtures/large.tar.zst keys/test.pem models/rank-v3.onnx
		scripts/deploy.sh scripts/migrate.sql web/app.css web/app.js web/index.html`) {
		at = at.Add(g.dice.about(70 * time.Minute))
		g.add(&root, fmt.Sprintf("file-%02d", i+1), "file", at, fields{
			{Key: "title", Value: text(name)}, {Key: "sha256", Value: text(strings.TrimPrefix(g.dice.digest(), "sha256:"))},
			{Key: "bytes", Value: number(g.dice.between(400, 9e6))}, {Key: "file_uuid", Value: text(g.dice.uuid())},
		})
	}
}

// growPreview is a short-lived tree with a fork.
func growPreview(g *grower) {
	t := g.root("preview-00", "web:pr-218", 40*time.Minute)
	t = g.run(t, run{id: "preview-01", command: "web --migrate", took: 3 * time.Second, idle: 5 * time.Second, actor: "cy"})
	g.run(t, run{id: "preview-02a", command: "web --seed small", took: 4 * time.Second, idle: 30 * time.Second, actor: "cy", label: "for the screenshots"})
	big := g.run(t, run{id: "preview-02b", command: "web --seed large", took: 95 * time.Second, idle: 2 * time.Minute, actor: "bo"})
	g.run(big, run{id: "preview-03b", command: "k6 run load.js", took: 2 * time.Minute, idle: time.Minute, actor: "bo", output: "p95 = 212 ms"})
}

// growScratch is what nobody needs any more.
func growScratch(g *grower) {
	t := g.root("scratch-00", "alpine:3.22", 90*time.Minute)
	for i, command := range []string{"apk add curl", "curl -sS https://mirror.example/health", "cat /etc/os-release"} {
		t = g.run(t, run{id: fmt.Sprintf("scratch-%02d", i+1), command: command, took: 2 * time.Second, idle: 10 * time.Second, actor: "ana"})
	}
}
