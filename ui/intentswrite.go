package ui

import (
	"treering/store"
	"treering/ui/layout"
)

// writeIntents are those that change the store.
func writeIntents() []intent {
	return []intent{
		{ID: "append", Keys: []string{"a"}, Short: "append", Foot: 3, Panes: []layout.Pane{layout.Tree, layout.Navigator, layout.Ancestry, layout.Detail},
			Long: "append a node under the selected one", Write: true, why: appendable, do: openAppend},
		{ID: "acknowledge", Keys: []string{"A"}, Panes: []layout.Pane{layout.Queues}, Short: "acknowledge", Foot: 2,
			Long: "remove the selected outbox entry or spawn without delivering it", Write: true, why: acknowledgeable, do: openAcknowledge},
		{ID: "fire", Keys: []string{"f"}, Panes: []layout.Pane{layout.Queues}, Short: "fire", Foot: 2,
			Long: "make the selected timer due now", Write: true, why: fireable, do: openFire},
		{ID: "ttl", Keys: []string{"t"}, Short: "time to live", Foot: 3, Panes: []layout.Pane{layout.Navigator, layout.Tree},
			Long: "set the session's time to live", Write: true, why: limitable, do: openTTL},
		{ID: "suspend", Keys: []string{"s"}, Short: "suspend", Foot: 3, Long: "suspend the selected execution and its live descendants",
			Write: true, why: controllable(store.Suspend), do: controlling(store.Suspend)},
		{ID: "resume", Keys: []string{"r"}, Short: "resume", Foot: 3, Long: "resume the selected execution and its live descendants",
			Write: true, why: controllable(store.Resume), do: controlling(store.Resume)},
		{ID: "terminate", Keys: []string{"T"}, Short: "terminate", Foot: 3, Long: "cancel the selected execution and its live descendants for good",
			Write: true, why: controllable(store.Terminate), do: controlling(store.Terminate)},
	}
}
