package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the linker in a release. A build from source knows what it was built from.
var (
	version string
	commit  string
	date    string
)

// build says what this program was built from.
type build struct{ version, commit, date string }

func thisBuild() build {
	b := build{version, commit, date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		if b.version == "" {
			b.version = "unknown"
		}
		return b
	}
	if b.version == "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.commit == "":
			b.commit = s.Value
		case s.Key == "vcs.time" && b.date == "":
			b.date = s.Value
		}
	}
	return b
}

func (b build) String() string {
	s := b.version
	if len(b.commit) >= 7 {
		s += " (" + b.commit[:7] + ")"
	}
	if b.date != "" {
		s += " " + b.date
	}
	return s
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `treering version --json`,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if a.json {
				var l line
				return a.out.jsonLine(l.text("version", b.version).text("commit", b.commit).text("date", b.date).
					text("go", runtime.Version()).text("platform", runtime.GOOS+"/"+runtime.GOARCH))
			}
			return a.out.raw("treering " + b.String() + "\n")
		},
	}
}
