FUZZTIME ?= 30s

.PHONY: build test race fuzz bench bench-session live pgo cross lint check

build:
	go build -o treering .

test:
	go test ./...

race:
	.ci/run race

fuzz:
	FUZZTIME=$(FUZZTIME) .ci/run fuzz

# ours and the reference side by side, in one run
bench:
	./bench/run

# the explorer in a terminal while another process writes; each name alone too
live:
	go run ./bench/live commit idle wal
	TREERING_FLOOD=10s go test ./ui -run TestFlood -v

# a session file of a million lines: first rows, the whole, what is kept, a page of it
bench-session:
	go test -run '^$$' -bench '^BenchmarkSession$$' -benchtime 1x ./bench

# the profile that the compiler optimises the program by, from the benchmarks
pgo:
	go test -trimpath -run '^$$' -bench . -benchtime 2s -cpuprofile default.pgo ./bench

cross:
	.ci/run cross

lint:
	golangci-lint run

# everything that must hold before a change goes in
check:
	.ci/run
