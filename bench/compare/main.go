// Command compare runs the benchmarks of this project and the same work in Python's
// standard library by turns, and prints both side by side with the ratio and the
// goal. Every figure is the median of the rounds.
//
// Absolute figures depend on the machine and on what else it does; ratios hold
// better, because both sides run close together in time.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "compare:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	small := flags.Bool("small", false, "a tenth of the work or less, to see that it runs; goals do not apply")
	update := flags.String("update", "", "put the figures, as Markdown, between the marks of this file too")
	rounds := flags.Int("rounds", 3, "how often each side runs")
	python := flags.String("python", "python3", "the Python that runs the reference")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: compare [flags] [GROUP...]   (in the module's root; groups: %s)\n", strings.Join(groupNames(), ", "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *update != "" && (*small || flags.NArg() > 0) {
		return errors.New("-update takes a full run of all groups")
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds must be at least 1, not %d", *rounds)
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	pythons, err := pythonVersion(ctx, *python)
	if err != nil {
		return err
	}
	binary, remove, err := build(ctx, stderr)
	if err != nil {
		return err
	}
	defer remove()

	if *update != "" {
		// Look before an hour's work, not after it.
		if err := replaceFigures(*update, nil); err != nil {
			return err
		}
	}
	where := fmt.Sprintf("%s/%s, %d CPUs, %s, %s; median of %d rounds.", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), pythons, *rounds)
	if *small {
		where += " A small run: fewer rows than the names say."
	}
	var table [][]string
	for _, g := range chosen {
		ours, reference := samples{}, samples{}
		for n := range *rounds {
			fmt.Fprintf(stderr, "%s: round %d of %d\n", g.name, n+1, *rounds)
			if err := runReference(ctx, *python, g, *small, reference); err != nil {
				return err
			}
			if err := runOurs(ctx, binary, g, *small, ours); err != nil {
				return err
			}
		}
		for _, r := range g.rows {
			cells, err := r.cells(ours, reference, !*small)
			if err != nil {
				return err
			}
			table = append(table, cells)
		}
	}
	fmt.Fprintf(stdout, "%s\n\n", where)
	if err := printAligned(stdout, table); err != nil || *update == "" {
		return err
	}
	return replaceFigures(*update, []byte(where+"\n\n"+markdown(table)))
}

func groupNames() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

func choose(names []string) ([]group, error) {
	if len(names) == 0 {
		return groups(), nil
	}
	var chosen []group
	for _, name := range names {
		i := slices.Index(groupNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("no group %q; there are %s", name, strings.Join(groupNames(), ", "))
		}
		chosen = append(chosen, groups()[i])
	}
	return chosen, nil
}

// build compiles the benchmarks once, so that no round pays for it, and with the
// profile that the program is built with.
func build(ctx context.Context, stderr io.Writer) (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "treering-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(stderr, "compare:", err)
		}
	}
	binary = dir + string(os.PathSeparator) + "bench.test"
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-pgo=default.pgo", "-o", binary, "./bench")
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build the benchmarks: %w", err)
	}
	return binary, remove, nil
}

// samples are the values of each measurement over the rounds. The key is the
// reference's name, or the benchmark's and its metric.
type samples map[string][]float64

func (s samples) median(key string) (float64, bool) {
	v := slices.Sorted(slices.Values(s[key]))
	if len(v) == 0 {
		return 0, false
	}
	if len(v)%2 == 0 {
		return (v[len(v)/2-1] + v[len(v)/2]) / 2, true
	}
	return v[len(v)/2], true
}

// pythonVersion names the reference's Python and its SQLite.
func pythonVersion(ctx context.Context, python string) (string, error) {
	out, err := output(ctx, python, "-c", "import platform, sqlite3; print(f'Python {platform.python_version()} with SQLite {sqlite3.sqlite_version}')")
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", python, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func runReference(ctx context.Context, python string, g group, small bool, into samples) error {
	args := []string{"bench/reference.py", g.name}
	if small {
		args = append(args, "--small")
	}
	out, err := output(ctx, python, args...)
	if err != nil {
		return fmt.Errorf("reference %s: %w", g.name, err)
	}
	return parseReference(out, into)
}

// parseReference reads lines of name, value and unit.
func parseReference(out []byte, into samples) error {
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 3 {
			return fmt.Errorf("reference printed %q", line)
		}
		v, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return fmt.Errorf("reference printed %q: %w", line, err)
		}
		into[part[0]] = append(into[part[0]], v)
	}
	return nil
}

func runOurs(ctx context.Context, binary string, g group, small bool, into samples) error {
	args := []string{"-test.run=^$", "-test.bench=" + g.benchmarks, "-test.timeout=30m"}
	if small {
		args = append(args, "-test.benchtime="+g.small, "-small")
	} else {
		args = append(args, "-test.benchtime="+g.full)
		if g.repeated != "" {
			args = append(args, "-test.count="+g.repeated)
		}
	}
	out, err := output(ctx, binary, args...)
	if err != nil {
		return fmt.Errorf("benchmarks %s: %w", g.name, err)
	}
	return parseBenchmarks(out, into)
}

// parseBenchmarks reads what go test -bench prints: the name with the number of
// processors after it, the iterations, then values and their units.
func parseBenchmarks(out []byte, into samples) error {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		part := strings.Fields(lines.Text())
		if len(part) < 4 || !strings.HasPrefix(part[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(part[0], "Benchmark")
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		for i := 2; i+1 < len(part); i += 2 {
			v, err := strconv.ParseFloat(part[i], 64)
			if err != nil {
				return fmt.Errorf("benchmark printed %q: %w", lines.Text(), err)
			}
			key := name + " " + part[i+1]
			into[key] = append(into[key], v)
		}
	}
	return lines.Err()
}

// output runs a program and returns what it printed. What it said on its standard
// error becomes part of the error.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, out, complaint.Bytes())
	}
	return out, nil
}
