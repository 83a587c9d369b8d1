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
	"text/tabwriter"
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
	rounds := flags.Int("rounds", 3, "how often each side runs")
	python := flags.String("python", "python3", "the Python that runs the reference")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: compare [flags] [GROUP...]   (in the module's root; groups: %s)\n", strings.Join(groupNames(), ", "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds must be at least 1, not %d", *rounds)
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return err
	}
	binary, remove, err := build(ctx, stderr)
	if err != nil {
		return err
	}
	defer remove()

	fmt.Fprintf(stdout, "%s/%s, %d CPUs, %s; %d rounds, median\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), *rounds)
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tours\treference\t\tbetter by\tgoal\t\t")
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
			line, err := r.line(ours, reference, !*small)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, line)
		}
	}
	return out.Flush()
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

// build compiles the benchmarks once, so that no round pays for it.
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
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "./bench")
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

// line is the row as tab-separated cells.
func (r row) line(ours, reference samples, judge bool) (string, error) {
	value, ok := ours.median(r.ours + " " + r.metric)
	if !ok {
		return "", fmt.Errorf("no benchmark reported %s in %s", r.ours, r.metric)
	}
	value *= r.scale
	factor, theirs := 0.0, ""
	if r.reference != "" {
		ref, ok := reference.median(r.reference)
		if !ok {
			return "", fmt.Errorf("the reference did not report %s", r.reference)
		}
		theirs = figure(ref)
		factor = ref / value
		if r.moreIsGood {
			factor = value / ref
		}
	}
	cells := []string{r.name, figure(value), theirs, r.unit, "", "", ""}
	if factor > 0 {
		cells[4] = fmt.Sprintf("%.2fx", factor)
	}
	met := true
	switch g := r.goal; {
	case g.factor > 0:
		cells[5], met = fmt.Sprintf("%.3gx", g.factor), factor >= g.factor
	case g.bound == none:
		cells[5], met = "0 "+r.unit, value == 0
	case g.bound > 0:
		cells[5], met = fmt.Sprintf("%.3g %s", g.bound, r.unit), value <= g.bound
	default:
		return strings.Join(cells, "\t") + "\t", nil
	}
	switch {
	case !judge:
		cells[6] = "not judged"
	case met:
		cells[6] = "met"
	default:
		cells[6] = "missed"
	}
	return strings.Join(cells, "\t") + "\t", nil
}

// figure prints three significant digits, without an exponent.
func figure(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
