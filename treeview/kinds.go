package treeview

import "slices"

// Kinds are the kinds of the entries that came, in the order in which they were
// first seen.
func (x *Index) Kinds() []string { return slices.Clone(x.kinds) }
