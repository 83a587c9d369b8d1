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
		{ID: "acknowledge", Keys: []string{"A"}, Panes: []layout.Pane{layout.Queues}, Short: "acknowledge", Foot: 3,
			Long: "remove the selected outbox entry or spawn without delivering it", Write: true, why: acknowledgeable, do: openAcknowledge},
		{ID: "fire", Keys: []string{"f"}, Panes: []layout.Pane{layout.Queues}, Short: "fire", Foot: 3,
			Long: "make the selected timer due now; a running system delivers it at once, an overdue one too", Write: true, why: fireable, do: openFire},
		{ID: "ttl", Keys: []string{"t"}, Short: "time to live", Foot: 7, Panes: []layout.Pane{layout.Navigator, layout.Tree},
			Long: "set the session's time to live", Write: true, why: limitable, do: openTTL},
		{ID: "suspend", Keys: []string{"s"}, Short: "suspend", Foot: 7, Long: "suspend the selected execution and its live descendants",
			Write: true, why: controllable(store.Suspend), do: controlling(store.Suspend)},
		{ID: "resume", Keys: []string{"r"}, Short: "resume", Foot: 7, Long: "resume the selected execution and its live descendants",
			Write: true, why: controllable(store.Resume), do: controlling(store.Resume)},
		{ID: "terminate", Keys: []string{"T"}, Short: "terminate", Foot: 7, Long: "cancel the selected execution and its live descendants for good",
			Write: true, why: controllable(store.Terminate), do: controlling(store.Terminate)},
		{ID: "cancel", Keys: []string{"C"}, Short: "cancel", Long: "ask the selected execution to cancel itself, and terminate its live descendants",
			Write: true, why: controllable(store.CancelGently), do: controlling(store.CancelGently)},
		{ID: "purge", Keys: []string{"P"}, Short: "purge", Long: "remove the selected execution, which has ended, with all that is its own",
			Write: true, why: purgeable, do: openPurge},
		{ID: "create", Keys: []string{"+"}, Short: "new session", Panes: []layout.Pane{layout.Navigator, layout.Tree},
			Long: "create a session, with its root or empty", Write: true, why: treesOnly, do: openCreate},
		{ID: "delete", Keys: []string{"D"}, Short: "delete", Panes: []layout.Pane{layout.Navigator, layout.Tree},
			Long: "delete the session with all its nodes", Write: true, why: deletable, do: openDelete},
		{ID: "purge-expired", Keys: []string{"X"}, Short: "purge expired", Panes: []layout.Pane{layout.Navigator},
			Long: "remove all expired sessions", Write: true, why: treesOnly, do: openPurgeExpired},
		{ID: "name", Keys: []string{"b"}, Short: "name branch", Panes: []layout.Pane{layout.Tree, layout.Ancestry, layout.Detail},
			Long: "name the branch that ends in the selected node, or rename it; the name is the explorer's own", why: nameable, do: openName},
		{ID: "unname", Keys: []string{"B"}, Short: "remove name", Panes: []layout.Pane{layout.Tree, layout.Ancestry, layout.Detail},
			Long: "remove a branch name of the selected node", why: hasName, do: openUnname},
		{ID: "log", Keys: []string{"L"}, Short: "own writes", Long: "what this explorer wrote since it started, and what came of it",
			why: logged, do: openLog},
	}
}
