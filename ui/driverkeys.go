package ui

import "treering/ui/layout"

// driverIntents are those that a running system does.
func driverIntents() []intent {
	beside := []layout.Pane{layout.Navigator, layout.Tree, layout.Ancestry, layout.Trace, layout.Queues}
	return []intent{
		{ID: "deliver", Keys: []string{"d"}, Panes: []layout.Pane{layout.Queues}, Short: "deliver", Foot: 2,
			Long: "have the running system deliver the selected outbox entry or spawn now", System: true, Write: true, why: deliverable, do: openDeliver},
		{ID: "send", Keys: []string{"x"}, Short: "send event", Foot: 3,
			Long: "send the selected execution an event: one of those that its chart takes in its active state, or one into the queue that its workers take from", Write: true, needs: carried, why: sendable, do: openSend},
		{ID: "new-execution", Keys: []string{"I"}, Short: "new execution",
			Long: "have the running system begin an execution", System: true, Write: true, do: openNew},
		{ID: "system-pause", Keys: []string{"S"}, Short: "pause system", Foot: 8,
			Long: "pause the running system, or let it go on", System: true, do: pausing},
		{ID: "system-step", Keys: []string{"."}, Panes: beside, Short: "step system", Foot: 2,
			Long: "move the paused system by one commit", System: true, Write: true, why: steppable, do: systemStep},
		{ID: "system-faster", Keys: []string{")"}, Short: "faster", Long: "let the running system do more in a second", System: true, do: changingRate(1)},
		{ID: "system-slower", Keys: []string{"("}, Short: "slower", Long: "let the running system do less in a second", System: true, do: changingRate(-1)},
	}
}
