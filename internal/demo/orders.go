package demo

import (
	"fmt"
	"time"

	"treering/store"
)

// line is one position of an order.
type line struct {
	sku   string
	qty   int
	price float64
}

func orderContext(n int, customer, city string, lines []line) fields {
	var positions []store.JSON
	total := 0.0
	for _, l := range lines {
		positions = append(positions, object(fields{
			{Key: "sku", Value: text(l.sku)}, {Key: "qty", Value: number(l.qty)}, {Key: "price", Value: decimal(l.price, 2)},
		}))
		total += float64(l.qty) * l.price
	}
	return fields{
		{Key: "order", Value: object(fields{
			{Key: "number", Value: number(n)}, {Key: "currency", Value: text("EUR")},
			{Key: "lines", Value: list(positions...)}, {Key: "total", Value: decimal(total, 2)},
		})},
		{Key: "customer", Value: object(fields{
			{Key: "name", Value: text(customer)},
			{Key: "address", Value: object(fields{{Key: "city", Value: text(city)}, {Key: "country", Value: text("DE")}})},
		})},
		{Key: "payment", Value: object(fields{{Key: "status", Value: text("none")}, {Key: "attempts", Value: number(0)}})},
		{Key: "reserved", Value: boolean(false)},
	}
}

func checkout(after time.Duration, via string) step {
	return step{after: after, kind: "Checkout", data: fields{{Key: "via", Value: text(via)}}, set: fields{
		{Key: "reserved", Value: boolean(true)},
		{Key: "payment.status", Value: text("authorising")}, {Key: "payment.attempts", Value: number(1)},
	}}
}

func (s *seeder) paid(after time.Duration, method string, spawn map[string]fields) step {
	auth := "A-" + s.dice.hex()[:6]
	return step{after: after, kind: "Paid", data: fields{{Key: "auth", Value: text(auth)}}, spawn: spawn, set: fields{
		{Key: "payment.status", Value: text("captured")}, {Key: "payment.method", Value: text(method)}, {Key: "payment.auth", Value: text(auth)},
	}}
}

func regionContexts(order int, warehouse string, total float64) map[string]fields {
	return map[string]fields{
		"Fulfilment.Picking": {{Key: "order", Value: number(order)}, {Key: "warehouse", Value: text(warehouse)}, {Key: "picked", Value: number(0)}},
		"Fulfilment.Billing": {{Key: "order", Value: number(order)}, {Key: "amount", Value: decimal(total, 2)}, {Key: "ledger", Value: text("EU-1")}},
	}
}

func picked(after time.Duration, sku string, count int) step {
	return step{after: after, kind: "ItemPicked", data: fields{{Key: "sku", Value: text(sku)}}, set: fields{
		{Key: "picked", Value: number(count)}, {Key: "last_sku", Value: text(sku)},
	}}
}

func sealed(after time.Duration, parcel string, grams int) step {
	return step{after: after, kind: "Sealed", data: fields{{Key: "scale", Value: text("S2")}}, set: fields{
		{Key: "parcel", Value: object(fields{{Key: "id", Value: text(parcel)}, {Key: "grams", Value: number(grams)}})},
	}}
}

// cancelledOrder was terminated after its card had been declined three times. Its
// timers stayed behind, and a note to nobody in particular is still in the outbox.
func (s *seeder) cancelledOrder() {
	o := s.create(orderChart(), "order-1001", s.ago(5*time.Hour), 0,
		orderContext(1001, "Inês Duarte", "Lübeck", []line{{"LAMP-OAK-02", 1, 149.00}, {"BULB-E27-8W", 4, 6.90}}))
	o.start(120 * time.Millisecond)
	o.do(checkout(48*time.Second, "web"))
	for attempt, reason := range []string{"insufficient_funds", "insufficient_funds", "do_not_honour"} {
		st := step{after: 3 * time.Second, kind: "Declined", delay: 30 * time.Second << attempt,
			data: fields{{Key: "reason", Value: text(reason)}},
			set: fields{
				{Key: "payment.status", Value: text("declined")}, {Key: "payment.last_error", Value: text(reason)},
				{Key: "payment.retry_in_s", Value: number(30 << attempt)},
			}}
		if attempt == 2 {
			st.emit = []store.Emit{{Event: s.event("Audit", o.at, fields{
				{Key: "order", Value: number(1001)}, {Key: "note", Value: text("three declined attempts")},
			})}}
			o.do(st)
			break
		}
		o.do(st)
		o.timeout("Payment.Retrying", fields{
			{Key: "payment.status", Value: text("authorising")}, {Key: "payment.attempts", Value: number(attempt + 2)},
		})
	}
	o.control(90*time.Second, store.Terminate)
}

// forkedOrder waits for its regions: picking has finished, billing has not.
func (s *seeder) forkedOrder() {
	o := s.create(orderChart(), "order-1002", s.ago(38*time.Minute), 0,
		orderContext(1002, "Ana Ruiz", "Kiel", []line{{"CHAIR-ASH-01", 4, 89.50}, {"TABLE-ASH-01", 1, 420.00}}))
	o.start(90 * time.Millisecond)
	o.do(step{after: 20 * time.Second, kind: "ItemAdded", data: fields{{Key: "sku", Value: text("OIL-HARD-05")}}, set: fields{
		{Key: "order.lines", Value: list(
			object(fields{{Key: "sku", Value: text("CHAIR-ASH-01")}, {Key: "qty", Value: number(4)}, {Key: "price", Value: decimal(89.5, 2)}}),
			object(fields{{Key: "sku", Value: text("TABLE-ASH-01")}, {Key: "qty", Value: number(1)}, {Key: "price", Value: decimal(420, 2)}}),
			object(fields{{Key: "sku", Value: text("OIL-HARD-05")}, {Key: "qty", Value: number(2)}, {Key: "price", Value: decimal(18.9, 2)}}),
		)},
		{Key: "order.total", Value: decimal(815.80, 2)},
	}})
	o.do(checkout(70*time.Second, "app"), s.paid(8*time.Second, "sepa", regionContexts(1002, "HAM-2", 815.80)))
	regions := o.fork(60 * time.Millisecond)
	if s.err != nil {
		return
	}
	o.broadcast(regions, step{after: 4 * time.Minute, kind: "PickStarted", data: fields{{Key: "picker", Value: text("jo")}},
		set: fields{{Key: "picker", Value: text("jo")}}})
	picking := regions[0]
	picking.do(picked(50*time.Second, "CHAIR-ASH-01", 4), picked(35*time.Second, "TABLE-ASH-01", 5), picked(15*time.Second, "OIL-HARD-05", 7),
		sealed(2*time.Minute, "HAM2-77120", 41250))
	o.at = picking.at
	o.join(80*time.Millisecond, true)
}

// stuckOrder waits for ever: picking has finished, but billing has FAILED, and a
// failed region tells its parent nothing. The deadline passed unnoticed, and the
// relay died after it had delivered picking's Finished, before it acknowledged it.
func (s *seeder) stuckOrder() {
	o := s.create(orderChart(), "order-1003", s.ago(26*time.Hour), 2,
		orderContext(1003, "Øystein Berg", "Flensburg", []line{{"DESK-WAL-03", 1, 689.00}}))
	o.start(110 * time.Millisecond)
	o.do(checkout(35*time.Second, "web"), s.paid(12*time.Second, "card", regionContexts(1003, "HAM-1", 689.00)))
	regions := o.fork(70 * time.Millisecond)
	if s.err != nil {
		return
	}
	picking, billing := regions[0], regions[1]
	picking.do(step{after: 6 * time.Minute, kind: "PickStarted", data: fields{{Key: "picker", Value: text("mel")}},
		set: fields{{Key: "picker", Value: text("mel")}}}, picked(80*time.Second, "DESK-WAL-03", 1), sealed(3*time.Minute, "HAM1-50418", 38900))
	billing.crash(step{after: 9 * time.Minute, kind: "Invoiced", data: fields{{Key: "batch", Value: text("B-2207")}},
		set: fields{{Key: "ledger_try", Value: number(3)}}},
		"Fulfilment.Billing", "TimeoutError: ledger EU-1 did not answer within 30 s")
	o.at = picking.at
	o.join(90*time.Millisecond, false)
}

// unrelayedOrder was committed while no relay ran: it entered fulfilment, was
// amended and entered it again. Four children and two cancellations of children
// that do not exist yet are waiting.
func (s *seeder) unrelayedOrder() {
	o := s.create(orderChart(), "order-1004", s.ago(31*time.Minute), 0,
		orderContext(1004, "李雷", "Rostock", []line{{"SHELF-PIN-04", 3, 74.00}}))
	o.start(100 * time.Millisecond)
	o.do(checkout(52*time.Second, "web"), s.paid(7*time.Second, "card", regionContexts(1004, "ROS-1", 222.00)),
		step{after: 11 * time.Minute, kind: "Amended", data: fields{{Key: "sku", Value: text("SHELF-PIN-04")}, {Key: "qty", Value: number(5)}}, set: fields{
			{Key: "order.lines", Value: list(object(fields{
				{Key: "sku", Value: text("SHELF-PIN-04")}, {Key: "qty", Value: number(5)}, {Key: "price", Value: decimal(74, 2)},
			}))},
			{Key: "order.total", Value: decimal(370, 2)},
			{Key: "payment.status", Value: text("authorising")}, {Key: "payment.attempts", Value: number(2)},
		}},
		s.paid(5*time.Second, "card", regionContexts(1004, "ROS-1", 370.00)))
}

// orderIDs lists what the four orders leave in a store.
func orderIDs() []string {
	ids := []string{"order-1001", "order-1002", "order-1003", "order-1004"}
	for _, parent := range []string{"order-1002", "order-1003"} {
		for _, region := range []string{"Picking", "Billing"} {
			ids = append(ids, fmt.Sprintf("%s:Fulfilment.%s:0", parent, region))
		}
	}
	return ids
}
