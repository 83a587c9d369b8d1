package main

// row is one line of the comparison: the same work on both sides.
type row struct {
	name string
	unit string
	// ours is the benchmark without its "Benchmark", metric the unit it is reported
	// in, and scale what turns that into the unit of this row.
	ours   string
	metric string
	scale  float64
	// reference is the name of the reference's measurement, "" where it has none.
	reference  string
	moreIsGood bool
	goal       goal
}

// goal is this project's own: a factor of the reference, or a bound in the row's
// unit. Zero is none.
type goal struct {
	factor float64
	bound  float64
}

// group is what runs together: a group of the reference and benchmarks of ours.
type group struct {
	name       string
	benchmarks string // for -bench
	// times are the -benchtime of the full and the small run.
	full, small string
	// repeated is the -count of the full run where the reference, too, takes the median
	// of several times in one process; "" is once.
	repeated string
	rows     []row
}

func groups() []group {
	var commits []row
	factors := map[string]float64{"full/1": 1, "full/8": 3.3, "full/64": 7, "normal/1": 1.35}
	for _, level := range []string{"full", "normal"} {
		for _, n := range []string{"1", "8", "64"} {
			key := level + "/" + n
			commits = append(commits,
				row{"commit " + key, "commits/s", "Commit/" + key, "commits/s", 1, "commit/" + key, true, goal{factor: factors[key]}},
				row{"commit " + key + " p50", "us", "Commit/" + key, "p50-us", 1, "commit/" + key + "/p50", false, goal{}},
				row{"commit " + key + " p99", "us", "Commit/" + key, "p99-us", 1, "commit/" + key + "/p99", false, goal{}})
		}
	}
	for i := range commits {
		if commits[i].name == "commit full/1 p99" {
			commits[i].goal.factor = 3
		}
	}
	const ms, us = 1e-6, 1e-3 // from ns/op
	appends := func(key string) row {
		return row{"append " + key, "nodes/s", "Append/" + key, "nodes/s", 1, "append/" + key, true, goal{}}
	}
	took := func(name, unit string, scale float64, ours, reference string, g goal) row {
		return row{name, unit, ours, "ns/op", scale, reference, false, g}
	}
	return []group{
		{"commit", "^BenchmarkCommit$", "6400x", "800x", "", commits},
		{"memory", "^BenchmarkMemory(Commit|Load)$", "200000x", "20000x", "5", []row{
			took("memory commit", "ns", 1, "MemoryCommit", "memory/commit", goal{factor: 4}),
			{"memory commit allocations", "allocs", "MemoryCommit", "allocs/op", 1, "", false, goal{}},
			took("memory load", "ns", 1, "MemoryLoad", "memory/load", goal{}),
			{"memory load allocations", "allocs", "MemoryLoad", "allocs/op", 1, "", false, goal{bound: none}},
		}},
		{"append", "^BenchmarkAppend$", "6000x", "600x", "", []row{
			appends("full/one"), appends("full/bulk100"), appends("normal/one"), appends("normal/bulk100"),
		}},
		{"nodes", "^BenchmarkNodes$", "1s", "20x", "", []row{
			took("list 1e6 nodes by pages", "ms", ms, "Nodes/list_all", "nodes/list_all", goal{factor: 1.6}),
			took("first page of 1000", "us", us, "Nodes/page_first", "nodes/page_first", goal{bound: 350}),
			took("page in the middle of them", "us", us, "Nodes/page_middle", "nodes/page_middle", goal{bound: 600}),
		}},
		{"children", "^BenchmarkChildren$", "1s", "20x", "", []row{
			took("100,000 children by pages", "ms", ms, "Children/list_all", "children/list_all", goal{bound: 45}),
			took("page in the middle of the children", "us", us, "Children/page_middle", "children/page_middle", goal{bound: 600}),
		}},
		{"ancestry", "^BenchmarkAncestry$", "1s", "20x", "", []row{
			took("ancestry 10,000 deep", "ms", ms, "Ancestry", "ancestry/by_parent", goal{bound: 8}),
			took("the same, recursive query", "ms", ms, "Ancestry", "ancestry/recursive", goal{}),
		}},
		{"executions", "^BenchmarkExecutions$", "1s", "5x", "", append(
			executionRows("ours"), executionRows("harel")...)},
	}
}

func executionRows(file string) []row {
	const ms, us = 1e-6, 1e-3
	in := " (file of " + file + ")"
	bench := "Executions/" + file + "/"
	return []row{
		{"executions, first page" + in, "us", bench + "first_page", "ns/op", us, "executions/first_page", false, goal{}},
		{"100,000 executions by pages" + in, "ms", bench + "all", "ns/op", ms, "executions/all", false, goal{}},
		{"the same, by status" + in, "ms", bench + "filtered", "ns/op", ms, "executions/filtered", false, goal{factor: 12}},
		{"the same, counted" + in, "ms", bench + "counted", "ns/op", ms, "executions/counted", false, goal{}},
	}
}

// none is the bound of what must not happen at all.
const none = -1
