package demo

import (
	"fmt"
	"strings"
	"time"
)

// chart is a statechart. Paths are dotted; a state that has others below it is a
// composite.
type chart struct {
	id      string
	initial string
	states  []state
	edges   []edge
}

// state is what the chart says of one path beyond its edges.
type state struct {
	path    string
	timeout time.Duration // arms a timer on entry
	outcome string        // of a final state
	regions []region      // of an AND-state
	defers  []string      // events kept for later
}

// region is one branch of an AND-state. Each becomes an execution of its own.
// carry names the context keys that the parent gets when it finishes.
type region struct {
	path, initial string
	carry         []string
}

type edge struct {
	from, event, to string
	actions         []string
}

// automatic is the event of an edge that is taken when all regions have finished.
const automatic = ""

// state is what the chart says of a path. It is not to be changed.
func (c *chart) state(path string) *state {
	for i := range c.states {
		if c.states[i].path == path {
			return &c.states[i]
		}
	}
	return &state{path: path}
}

// initialOf is where an execution of that root starts.
func (c *chart) initialOf(root string) string {
	for _, r := range c.state(parentPath(root)).regions {
		if r.path == root {
			return r.initial
		}
	}
	return c.initial
}

// edge finds what an event does in a state: the edge anchored at the leaf or the
// nearest ancestor within root.
func (c *chart) edge(root, at, event string) (edge, error) {
	for p := at; within(p, root); p = parentPath(p) {
		for _, e := range c.edges {
			if e.from == p && e.event == event {
				return e, nil
			}
		}
		if p == "" {
			break
		}
	}
	return edge{}, fmt.Errorf("chart %s: %s takes no %s", c.id, at, event)
}

func parentPath(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}

// within reports whether inner is outer or lies below it.
func within(inner, outer string) bool {
	return outer == "" || inner == outer || strings.HasPrefix(inner, outer+".")
}

// entered lists the states that a step from one path to another enters, the
// outermost first. Swapped, it lists those that are left.
func entered(from, to string) []string {
	var out []string
	for p := to; p != "" && !within(from, p); p = parentPath(p) {
		out = append([]string{p}, out...)
	}
	return out
}

func orderChart() *chart {
	return &chart{
		id: "order", initial: "Cart",
		states: []state{
			{path: "Payment", timeout: 30 * time.Minute},
			{path: "Payment.Retrying", timeout: 30 * time.Second},
			{path: "Fulfilment", timeout: 24 * time.Hour, regions: []region{
				{"Fulfilment.Picking", "Fulfilment.Picking.Waiting", []string{"parcel"}},
				{"Fulfilment.Billing", "Fulfilment.Billing.Invoicing", []string{"invoice"}},
			}},
			{path: "Fulfilment.Picking.Packed", outcome: "packed"},
			{path: "Fulfilment.Billing.Invoicing", timeout: time.Hour},
			{path: "Fulfilment.Billing.Billed", outcome: "billed"},
			{path: "Closed", outcome: "delivered"},
			{path: "Abandoned", outcome: "abandoned"},
		},
		edges: []edge{
			{"Cart", "ItemAdded", "Cart", []string{"shop.cart.reprice"}},
			{"Cart", "Checkout", "Payment.Awaiting", []string{"shop.stock.reserve", "shop.pay.authorise"}},
			{"Payment.Awaiting", "Declined", "Payment.Retrying", []string{"shop.pay.note_decline", "shop.mail.retry_notice"}},
			{"Payment.Retrying", "Timeout", "Payment.Awaiting", []string{"shop.pay.authorise"}},
			{"Payment", "Timeout", "Abandoned", []string{"shop.stock.release"}},
			{"Payment.Awaiting", "Paid", "Fulfilment", []string{"shop.pay.capture", "shop.mail.receipt"}},
			{"Fulfilment", "Amended", "Payment.Awaiting", []string{"shop.pay.refund_difference", "shop.pay.authorise"}},
			{"Fulfilment", "Timeout", "Abandoned", []string{"shop.pay.refund", "shop.stock.release"}},
			{"Fulfilment", automatic, "Shipped", []string{"shop.ship.label"}},
			{"Fulfilment.Picking.Waiting", "PickStarted", "Fulfilment.Picking.Packing", []string{"shop.pick.assign"}},
			{"Fulfilment.Picking.Packing", "ItemPicked", "Fulfilment.Picking.Packing", []string{"shop.pick.count"}},
			{"Fulfilment.Picking.Packing", "Sealed", "Fulfilment.Picking.Packed", []string{"shop.pick.weigh"}},
			{"Fulfilment.Billing.Invoicing", "Invoiced", "Fulfilment.Billing.Billed", []string{"shop.bill.post"}},
			{"Shipped", "Delivered", "Closed", []string{"shop.mail.thanks"}},
		},
	}
}

func buildChart() *chart {
	return &chart{
		id: "sandbox-build", initial: "Queued",
		states: []state{
			{path: "Fetching", timeout: 10 * time.Minute},
			{path: "Building", timeout: 12 * time.Hour},
			{path: "Building.Backoff", timeout: 5 * time.Second},
			{path: "Testing", timeout: 20 * time.Minute, defers: []string{"Promote"}},
			{path: "Published", outcome: "published"},
			{path: "Failed", outcome: "failed"},
		},
		edges: []edge{
			{"Queued", "Claimed", "Fetching", []string{"ci.sandbox.boot"}},
			{"Fetching", "Fetched", "Building.Compiling", []string{"ci.git.verify", "ci.cache.restore"}},
			{"Fetching", "Timeout", "Failed", []string{"ci.sandbox.discard"}},
			{"Building.Compiling", "Progress", "Building.Compiling", []string{"ci.log.tail"}},
			{"Building.Compiling", "CompileFailed", "Building.Backoff", []string{"ci.retry.plan"}},
			{"Building.Backoff", "Timeout", "Building.Compiling", []string{"ci.sandbox.rollback"}},
			{"Building.Compiling", "Compiled", "Testing", []string{"ci.image.commit"}},
			{"Building", "Timeout", "Failed", []string{"ci.sandbox.discard"}},
			{"Testing", "TestsPassed", "Published", []string{"ci.image.push", "ci.notify.green"}},
			{"Testing", "TestsFailed", "Failed", []string{"ci.notify.red"}},
			{"Testing", "Timeout", "Failed", []string{"ci.sandbox.discard", "ci.notify.red"}},
		},
	}
}
