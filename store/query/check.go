package query

import (
	"fmt"

	"github.com/alecthomas/participle/v2/lexer"

	"treering/store"
)

// test makes an expression of a field, an operator and a value.
func (c *checker) test(n *testNode) expr {
	at := n.Field.Pos.Offset
	name, p := c.parsePath(n.Field.Value, at)
	whole := n.Field.Value
	if n.Op != nil {
		whole += n.Op.Value
	}
	if n.Value != nil && n.Value.Type == tokenValue {
		whole += n.Value.Value
	}
	f, ok := c.field(name, at, whole)
	if !ok || c.err != nil {
		return nil
	}
	info := f.info()
	switch {
	case !info.testable:
		return c.fail(at, fmt.Sprintf("%s can only be asked for", name), "write has:"+name)
	case info.form != document && p != nil:
		return c.fail(at, fmt.Sprintf("%s has nothing inside it", name), "paths such as data.user.label lead into data and context")
	case info.form == document && p == nil:
		return c.fail(at+len(n.Field.Value), name+" needs the path of a value in it", "such as "+name+".user.label")
	case n.Op == nil:
		return c.fail(at+len(n.Field.Value), "an operator and a value are missing after "+n.Field.Value, "such as =, ~ or >; to know whether it is there write has:"+n.Field.Value)
	}
	e := &comparison{field: f, path: p, op: operatorOf(n.Op.Value)}
	opAt := n.Op.Pos.Offset
	valueAt := opAt + len(n.Op.Value)
	if n.Value != nil {
		valueAt = n.Value.Pos.Offset
		if n.Value.Type == tokenValue && valueAt+len(n.Value.Value) == len(c.text) {
			c.typing = valueAt
		}
	}
	if !c.operatorFits(info, e.op, opAt) {
		return nil
	}
	if n.Value == nil {
		return c.fail(valueAt, fmt.Sprintf("a value is missing after %s%s", n.Field.Value, n.Op.Value), fmt.Sprintf("%s takes %s", name, info.takes))
	}
	switch info.form {
	case presence:
		return c.has(n.Value)
	case number:
		e.value = bareLiteral(c.plain(*n.Value))
		if e.value.kind != store.Number {
			return c.fail(valueAt, fmt.Sprintf("%s takes %s, not %q", name, info.takes, n.Value.Value), "")
		}
	case moment:
		e.value = textLiteral(c.plain(*n.Value))
		if _, err := parseWhen(e.value.text); err != nil && c.err == nil {
			return c.fail(valueAt, fmt.Sprintf("%s takes %s, not %q", name, info.takes, e.value.text), err.Error())
		}
	case document:
		e.value = textLiteral(c.plain(*n.Value))
		if n.Value.Type == tokenValue {
			e.value = bareLiteral(n.Value.Value)
		}
		c.valueFits(e, valueAt)
	default:
		e.value = textLiteral(c.plain(*n.Value))
		if e.value.text == "" && c.err == nil {
			return c.fail(valueAt, "there is nothing between the quotes", fmt.Sprintf("%s takes %s; to know whether it is there write has:%s", name, info.takes, name))
		}
	}
	if c.err != nil {
		return nil
	}
	return e
}

// operatorFits refuses an operator that means nothing for the field.
func (c *checker) operatorFits(info fieldInfo, op operator, at int) bool {
	can := ""
	switch info.form {
	case exactText, foldText, pathText, proseText:
		if op.orders() {
			can = ": = != ~"
		}
	case number:
		if op == opContains {
			can = ": = != < <= > >="
		}
	case moment, presence:
		if op != opIs {
			can = ":"
		}
	case document:
	}
	if can == "" {
		return true
	}
	c.fail(at, fmt.Sprintf("%s does not compare with %s", info.name, op), "it does with "+can)
	return false
}

// valueFits refuses a value that means nothing with the operator.
func (c *checker) valueFits(e *comparison, at int) {
	k := e.value.kind
	switch {
	case e.op.orders() && k != store.Number && k != store.String:
		c.fail(at, fmt.Sprintf("%s has no order to compare with %s", e.value.text, e.op), fmt.Sprintf("%s takes a number or a text", e.op))
	case e.op == opContains && (k != store.String || e.value.text == ""):
		// A bare number is looked for as the text it is.
		if e.value.text == "" {
			c.fail(at, "there is nothing to look for between the quotes", "")
			return
		}
		e.value.kind = store.String
	}
}

// has reads what stands after has:.
func (c *checker) has(t *lexer.Token) expr {
	text, at := t.Value, t.Pos.Offset
	if t.Type == tokenString {
		text = c.unquote(*t)
		at++
	}
	if !isPath(text) {
		return c.fail(at, fmt.Sprintf("%q is not the name of a field", text), "has takes "+fieldHas.info().takes)
	}
	name, p := c.parsePath(text, at)
	f, ok := c.field(name, at, "has:"+text)
	if !ok || c.err != nil {
		return nil
	}
	switch f {
	case fieldHas, fieldSince, fieldBefore:
		return c.fail(at, fmt.Sprintf("%s is no value that can be there or not", name), "has:time asks whether there is a time")
	default:
	}
	if p != nil && f.info().form != document {
		return c.fail(at, fmt.Sprintf("%s has nothing inside it", name), "")
	}
	return &has{f, p}
}
