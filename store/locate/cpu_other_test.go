//go:build !unix

package locate

import "time"

// cpu is the time, where the processor's is not told.
func cpu() time.Duration { return time.Duration(time.Now().UnixNano()) }
