package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"treering/store"
	"treering/store/memory"
)

// An order goes through two events. Each is one commit: the new state, what it
// emits, the mark that it was handled, the timer it arms or cancels, and a step
// of the trace land together.
func Example_executions() {
	ctx := context.Background()
	st, err := memory.New(memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Print(err)
		}
	}()
	s := st.Executions()

	// Checkout: the order waits for its payment, for an hour at most.
	payment, billing := "Payment", "billing"
	checkout := store.Event{ID: "event-1", Kind: "Checkout"}
	order := &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Running, ActivePath: &payment, Context: `{"total":49.90}`}
	seqs, err := s.Commit(ctx, store.Commit{
		Execution:        order,
		ProcessedEventID: &checkout.ID,
		Emits:            []store.Emit{{TargetID: &billing, Event: store.Event{ID: "event-2", Kind: "Charge", Data: `{"amount":49.90}`}}},
		Timers:           []store.TimerOp{{Action: store.Schedule, Path: payment, FireAt: 1784733600}},
		Trace:            `{"event_kind":"Checkout","from_path":"Cart","to_path":"Payment"}`,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("checkout: version", order.Version, "seqs", seqs)

	// A relay delivers what is in the outbox, and then acknowledges it.
	pending, err := s.PendingOutbox(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range pending {
		fmt.Println("deliver", entry.Event.Kind, "to", *entry.TargetID, entry.Event.Data)
		if _, err := s.AckOutbox(ctx, entry.Seq); err != nil {
			log.Fatal(err)
		}
	}

	// Paid: the order is done and its timer goes. Delivered twice, it is handled once.
	paid := store.Event{ID: "event-3", Kind: "Paid"}
	for range 2 {
		exe, processed, err := s.LoadForEvent(ctx, "order-1", paid.ID)
		if err != nil {
			log.Fatal(err)
		}
		if processed {
			fmt.Println("paid: already processed")
			continue
		}
		exe.Status, exe.ActivePath = store.Done, nil
		if _, err := s.Commit(ctx, store.Commit{
			Execution:        exe,
			ProcessedEventID: &paid.ID,
			Timers:           []store.TimerOp{{Action: store.Cancel, Path: payment}},
			Trace:            `{"event_kind":"Paid","from_path":"Payment","to_path":"Done"}`,
		}); err != nil {
			log.Fatal(err)
		}
		fmt.Println("paid: version", exe.Version, exe.Status)
	}
	due, err := s.DueTimers(ctx, 1784733600)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("timers due:", len(due))

	// Somebody who still holds version 1 loses, and nothing of the commit is left.
	stale := &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Cancelled, Version: 1}
	_, err = s.Commit(ctx, store.Commit{Execution: stale, Emits: []store.Emit{{Event: store.NewEvent("Cancelled", "")}}})
	if errors.Is(err, store.ErrConflict) {
		fmt.Println(err)
	}

	steps, err := s.ReadTrace(ctx, "order-1")
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range steps {
		step := entry.Step()
		fmt.Printf("step %d: %s, %s to %s\n", entry.Index, step.EventKind, *step.From, *step.To)
	}
	counts, err := s.Counts(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("executions done:", counts.ByStatus[store.Done], "outbox:", counts.Outbox)
	// Output:
	// checkout: version 1 seqs [1]
	// deliver Charge to billing {"amount":49.90}
	// paid: version 2 DONE
	// paid: already processed
	// timers due: 0
	// execution "order-1": expected version 1, found 2; reload it and try again
	// step 0: Checkout, Cart to Payment
	// step 1: Paid, Payment to Done
	// executions done: 1 outbox: 0
}
