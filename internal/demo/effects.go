package demo

import (
	"errors"

	"treering/store"
)

// perform runs one action of a chart: what it does to the context, by what the event
// says. An error is the action's own, and the execution fails of it.
func (t *turn) perform(name string) error {
	c, data := &t.exe.Context, t.ev.Data
	set := func(path string, value store.JSON) {
		if value == "" {
			value = store.Null
		}
		*c = with(*c, path, value)
	}
	count := func(path ...string) int { n, _ := c.At(path...).Int64(); return int(n) }
	switch name {
	case "shop.cart.reprice":
		price, _ := data.Get("price").Float64()
		total, _ := c.At("order", "total").Float64()
		positions := c.At("order", "lines")
		var all []store.JSON
		for p := range positions.Elements() {
			all = append(all, p)
		}
		set("order.lines", list(append(all, object(fields{{Key: "sku", Value: data.Get("sku")}, {Key: "qty", Value: number(1)}, {Key: "price", Value: decimal(price, 2)}}))...))
		set("order.total", decimal(total+price, 2))
	case "shop.stock.reserve":
		set("reserved", boolean(true))
	case "shop.stock.release":
		set("reserved", boolean(false))
	case "shop.pay.authorise":
		set("payment.status", text("authorising"))
		set("payment.attempts", number(count("payment", "attempts")+1))
	case "shop.pay.note_decline":
		set("payment.status", text("declined"))
		set("payment.last_error", data.Get("reason"))
		set("payment.retry_in_s", decimal(t.p.rests["Payment.Retrying"](*c).Seconds(), 0))
	case "shop.pay.capture":
		set("payment.status", text("captured"))
		set("payment.auth", data.Get("auth"))
	case "shop.pay.refund", "shop.pay.refund_difference":
		set("payment.status", text("refunded"))
	case "shop.ship.label":
		set("shipment", object(fields{{Key: "parcel", Value: c.At("region_results", "Fulfilment.Picking", "parcel", "id")}, {Key: "label", Value: text("L-" + t.ev.ID[:min(len(t.ev.ID), 8)])}}))
	case "shop.pick.assign":
		set("picker", data.Get("picker"))
	case "shop.pick.count":
		set("picked", number(count("picked")+1))
		set("last_sku", data.Get("sku"))
	case "shop.pick.weigh":
		set("parcel", object(fields{{Key: "id", Value: data.Get("parcel")}, {Key: "grams", Value: data.Get("grams")}}))
	case "shop.bill.post":
		if down, ok := data.Get("ledger_down").Text(); ok {
			set("ledger_try", number(count("ledger_try")+1))
			return errors.New("TimeoutError: ledger " + down + " did not answer within 30 s")
		}
		set("invoice", object(fields{{Key: "number", Value: data.Get("number")}, {Key: "amount", Value: c.Get("amount")}}))
	case "shop.bill.remind":
		set("reminders", number(count("reminders")+1))

	case "ci.sandbox.boot":
		set("sandbox", object(fields{{Key: "runner", Value: data.Get("runner")}, {Key: "image", Value: text("debian:13")}}))
	case "ci.cache.restore":
		set("attempt", number(1))
	case "ci.log.tail":
		if runner, ok := data.Get("runner_lost").Text(); ok {
			return errors.New("ConnectionError: runner " + runner + " is gone")
		}
		set("progress.done", number(min(count("progress", "done")+int(intOf(data.Get("units"))), count("progress", "of"))))
	case "ci.retry.plan":
		reason := data.Get("message")
		if reason == "" {
			reason = text("no progress for " + compileStalls.String())
		}
		set("last_error", object(fields{{Key: "unit", Value: nullable(data.Get("unit"))}, {Key: "message", Value: reason}}))
		set("backoff_s", decimal(t.p.rests["Building.Backoff"](*c).Seconds(), 0))
	case "ci.sandbox.rollback":
		set("attempt", number(count("attempt")+1))
		set("progress.done", number(0))
	case "ci.image.commit":
		set("sandbox.image", data.Get("image"))
		set("progress.done", c.At("progress", "of"))
		set("last_error", store.Null)
	case "ci.image.push":
		set("artifact", text("registry.example/"+t.exe.ID))
		set("tests", object(fields{{Key: "passed", Value: data.Get("passed")}, {Key: "failed", Value: number(0)}}))
	case "ci.notify.red":
		set("result", text("red"))
	}
	return nil
}

func intOf(v store.JSON) int64 { n, _ := v.Int64(); return n }

func nullable(v store.JSON) store.JSON {
	if v == "" {
		return store.Null
	}
	return v
}

// regionContext is what a region of an order begins with.
func (t *turn) regionContext(path string) store.JSON {
	order := t.exe.Context.Get("order")
	switch path {
	case "Fulfilment.Picking":
		return object(fields{{Key: "order", Value: order.Get("number")}, {Key: "warehouse", Value: text("HAM-2")}, {Key: "picked", Value: number(0)}})
	case "Fulfilment.Billing":
		return object(fields{{Key: "order", Value: order.Get("number")}, {Key: "amount", Value: order.Get("total")}, {Key: "ledger", Value: text("EU-1")}})
	}
	return store.EmptyObject
}

// The ranges from which executions are made.
var (
	goods = []line{
		{"LAMP-OAK-02", 1, 149}, {"CHAIR-ASH-01", 4, 89.5}, {"TABLE-ASH-01", 1, 420}, {"DESK-WAL-03", 1, 689}, {"SHELF-PIN-04", 3, 74}, {"OIL-HARD-05", 2, 18.9},
	}
	buyers = []struct{ name, city string }{
		{"Inês Duarte", "Lübeck"}, {"Ana Ruiz", "Kiel"}, {"Øystein Berg", "Flensburg"}, {"李雷", "Rostock"}, {"Mel Okafor", "Bremen"},
	}
	repositories = []string{"aurora", "basalt", "cobalt", "delta", "ember"}
)

// orderStart and buildStart are the contexts that new executions begin with.
func orderStart(d dice, n int) store.JSON {
	who := buyers[d.between(0, len(buyers)-1)]
	return object(orderContext(n, who.name, who.city, []line{goods[d.between(0, len(goods)-1)]}))
}

func buildStart(d dice) store.JSON {
	repo := repositories[d.between(0, len(repositories)-1)]
	return object(fields{
		{Key: "repo", Value: object(fields{{Key: "url", Value: text("https://git.example/" + repo + ".git")}, {Key: "ref", Value: text("main")}, {Key: "commit", Value: text(d.hex()[:12])}})},
		{Key: "attempt", Value: number(0)},
		{Key: "progress", Value: object(fields{{Key: "done", Value: number(0)}, {Key: "of", Value: number(d.between(4, 12) * 20)}})},
		{Key: "last_error", Value: store.Null},
	})
}

// What is no event: hangs is that nobody answers until a timer does, waiting that it
// is not for the world to answer.
const (
	hangs   = "hangs"
	waiting = "waiting"
)

// move is something that the world may do to an execution in a state.
type move struct {
	weight int
	kind   string
	data   func(d dice) fields
}

// moves are what the world does, by chart and path.
func moves() map[place][]move {
	pick := func(of ...string) func(d dice) store.JSON {
		return func(d dice) store.JSON { return text(of[d.between(0, len(of)-1)]) }
	}
	reason, picker, unit, runner := pick("insufficient_funds", "do_not_honour", "expired_card"), pick("jo", "mel", "sam"),
		pick("src/net/tls.c", "src/wal.c", "third_party/zlib/inflate.c"), pick("r-01", "r-02", "r-03")
	message := pick("mirror answered 503", "checksum of the download differs", "linker killed at 7.6 GiB")
	one := func(key string, value func(d dice) store.JSON) func(d dice) fields {
		return func(d dice) fields { return fields{{Key: key, Value: value(d)}} }
	}
	of := func(kind, path string) place { return place{kind, path} }
	return map[place][]move{
		of(OrderKind, "Cart"): {
			{36, "ItemAdded", func(d dice) fields {
				l := goods[d.between(0, len(goods)-1)]
				return fields{{Key: "sku", Value: text(l.sku)}, {Key: "price", Value: decimal(l.price, 2)}}
			}},
			{60, "Checkout", one("via", pick("web", "app"))},
			{1, store.CancelEvent, one("reason", pick("changed my mind"))},
			{3, hangs, nil},
		},
		of(OrderKind, "Payment.Awaiting"): {
			{70, "Paid", func(d dice) fields { return fields{{Key: "auth", Value: text("A-" + d.hex()[:6])}} }},
			{25, "Declined", one("reason", reason)},
			{2, store.CancelEvent, one("reason", pick("no money left"))},
			{3, hangs, nil},
		},
		of(OrderKind, "Fulfilment"): {
			{3, "Amended", func(d dice) fields { return fields{{Key: "sku", Value: text(goods[d.between(0, len(goods)-1)].sku)}} }},
			{97, waiting, nil},
		},
		of(OrderKind, "Fulfilment.Picking.Waiting"): {{97, "PickStarted", one("picker", picker)}, {3, hangs, nil}},
		of(OrderKind, "Fulfilment.Picking.Packing"): {
			{58, "ItemPicked", func(d dice) fields { return fields{{Key: "sku", Value: text(goods[d.between(0, len(goods)-1)].sku)}} }},
			{42, "Sealed", func(d dice) fields {
				return fields{{Key: "parcel", Value: text("HAM2-" + d.hex()[:5])}, {Key: "grams", Value: number(d.between(400, 41000))}}
			}},
		},
		of(OrderKind, "Fulfilment.Billing.Invoicing"): {
			{91, "Invoiced", func(d dice) fields { return fields{{Key: "number", Value: text("I-" + d.hex()[:6])}} }},
			{4, "Invoiced", one("ledger_down", pick("EU-1"))},
			{5, hangs, nil},
		},
		of(OrderKind, "Shipped"): {{96, "Delivered", nil}, {4, hangs, nil}},

		of(BuildKind, "Queued"):   {{98, "Claimed", one("runner", runner)}, {2, hangs, nil}},
		of(BuildKind, "Fetching"): {{96, "Fetched", func(d dice) fields { return fields{{Key: "bytes", Value: number(d.between(2e7, 6e7))}} }}, {4, hangs, nil}},
		of(BuildKind, "Building.Compiling"): {
			{60, "Progress", func(d dice) fields { return fields{{Key: "units", Value: number(d.between(5, 60))}} }},
			{22, "Compiled", func(d dice) fields { return fields{{Key: "image", Value: text(d.uuid())}} }},
			{14, "CompileFailed", func(d dice) fields { return fields{{Key: "unit", Value: unit(d)}, {Key: "message", Value: message(d)}} }},
			{2, "Progress", one("runner_lost", runner)},
			{2, hangs, nil},
		},
		of(BuildKind, "Testing"): {
			{80, "TestsPassed", func(d dice) fields { return fields{{Key: "passed", Value: number(d.between(300, 1200))}} }},
			{14, "TestsFailed", func(d dice) fields { return fields{{Key: "failed", Value: number(d.between(1, 9))}} }},
			{6, hangs, nil},
		},
	}
}
