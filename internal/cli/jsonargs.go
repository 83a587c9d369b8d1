package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"treering/store"
)

// idFlags are the flags that name something in a store.
var idFlags = []string{"below", "definition", "execution", "id", "kind", "not-kind", "parent", "path"}

// decodeArgs reads what --json-args is about: ids with a NUL, a line feed or half a
// surrogate pair in them are in some stores, and no shell can pass them on.
func (a *app) decodeArgs(cmd *cobra.Command, args []string) ([]string, error) {
	if !a.jsonArgs {
		return args, nil
	}
	out := slices.Clone(args)
	for i, arg := range out {
		if strings.HasPrefix(arg, `"`) {
			text, err := jsonText(arg)
			if err != nil {
				return nil, usagef("--json-args: the argument %q: %w", arg, err)
			}
			out[i] = text
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err != nil || !slices.Contains(idFlags, f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values := list.GetSlice()
			for i, v := range values {
				if values[i], err = jsonID(f.Name, v); err != nil {
					return
				}
			}
			err = list.Replace(values)
			return
		}
		var text string
		if text, err = jsonID(f.Name, f.Value.String()); err == nil {
			err = f.Value.Set(text)
		}
	})
	return out, err
}

func jsonID(flag, value string) (string, error) {
	if !strings.HasPrefix(value, `"`) {
		return value, nil
	}
	text, err := jsonText(value)
	if err != nil {
		return "", usagef("--json-args: --%s %q: %w", flag, value, err)
	}
	return text, nil
}

// jsonText is the text of a JSON string.
func jsonText(s string) (string, error) {
	j, err := store.ParseJSON(s)
	if err != nil {
		return "", err
	}
	text, _ := j.Text() // what begins with a quote is a string
	return text, nil
}
