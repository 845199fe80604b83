package stream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wirespeed/wirespeed/internal/packet"
)

// maxList is the most values of one list: a list is kept whole in memory by every queue.
const maxList = 65536

// modifierForms says how each modifier is written, for messages and the schema.
var modifierForms = [...]string{
	Inc: "inc(start,step,count)", Dec: "dec(start,step,count)", Rand: "rand(min,max,seed)", List: "list(a,b,...)",
}

// String is the modifier's name.
func (op Op) String() string {
	return [...]string{Fixed: "fixed", Inc: "inc", Dec: "dec", Rand: "rand", List: "list"}[op]
}

// parseValue reads a constant or a modifier of the field and checks that every value that it can make fits the field.
func parseValue(f *packet.Field, text string) (Value, *fault) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Value{}, &fault{"no value", "give " + notation(f) + " or a modifier: " + strings.Join(modifierForms[Inc:], ", ")}
	}
	name, rest, called := strings.Cut(text, "(")
	if !called {
		v, bad := parseNum(f, text)
		return Value{Op: Fixed, Start: v}, bad
	}
	name = strings.TrimSpace(name)
	op := Fixed
	for o := Inc; o <= List; o++ {
		if o.String() == name {
			op = o
		}
	}
	if op == Fixed {
		message, mend := unknown("modifier", name, []string{"inc", "dec", "rand", "list"})
		return Value{}, &fault{message, mend}
	}
	inner, closed := strings.CutSuffix(rest, ")")
	if !closed || strings.ContainsAny(inner, "()") {
		return Value{}, &fault{fmt.Sprintf("%q does not end with one closing parenthesis", shorten(text)), "write " + modifierForms[op]}
	}
	args := strings.Split(inner, ",")
	if op != List && len(args) != 3 {
		return Value{}, &fault{fmt.Sprintf("%s takes 3 values, not %d", op, len(args)), "write " + modifierForms[op]}
	}
	switch op {
	case Rand:
		return parseRand(f, args)
	case List:
		return parseList(f, args)
	default:
		return parseSteps(f, op, args)
	}
}

func parseNum(f *packet.Field, text string) (packet.Num, *fault) {
	v, err := packet.ParseNum(f, strings.TrimSpace(text))
	return v, faultOf(err)
}

// parseSteps reads inc and dec.
func parseSteps(f *packet.Field, op Op, args []string) (Value, *fault) {
	v := Value{Op: op}
	var bad *fault
	if v.Start, bad = parseNum(f, args[0]); bad != nil {
		return v, bad
	}
	if v.Step, bad = parseStep(f, args[1]); bad != nil {
		return v, bad
	}
	count, ok := number(args[2])
	if !ok || count == 0 {
		return v, &fault{fmt.Sprintf("count %q is not a number from 1 on", shorten(strings.TrimSpace(args[2]))),
			fmt.Sprintf("the count of %s is how many values there are before the start comes again", modifierForms[op])}
	}
	v.Count = count
	return v, v.check(f)
}

// parseStep reads a step as a number in the field's unit or, for addresses, in the field's own notation (0.0.1.0).
func parseStep(f *packet.Field, text string) (packet.Num, *fault) {
	text = strings.TrimSpace(text)
	var step packet.Num
	lo, ok := number(text)
	step.Lo = lo
	if v, err := packet.ParseNum(f, text); err == nil {
		step, ok = v, true
	}
	switch {
	case !ok:
		return step, &fault{fmt.Sprintf("step %q is not a number from 1 on", shorten(text)), "to go down write dec(start,step,count)"}
	case step == packet.Num{}:
		return step, &fault{"a step of 0 changes nothing", "give the value alone"}
	case f.Max().Less(step):
		return step, &fault{fmt.Sprintf("step %s is larger than the field", shorten(text)), fmt.Sprintf("the field has %d bits", f.Bits)}
	}
	return step, nil
}

func parseRand(f *packet.Field, args []string) (Value, *fault) {
	v := Value{Op: Rand}
	var bad *fault
	if v.Start, bad = parseNum(f, args[0]); bad != nil {
		return v, bad
	}
	if v.Max, bad = parseNum(f, args[1]); bad != nil {
		return v, bad
	}
	seed, bad := parseSeed(args[2])
	if bad != nil {
		return v, bad
	}
	v.Seed = seed
	return v, v.check(f)
}

func parseSeed(text string) (uint64, *fault) {
	text = strings.TrimSpace(text)
	seed, ok := number(text)
	if !ok {
		return 0, &fault{fmt.Sprintf("seed %q is not a number from 0 to 2^64-1", shorten(text)), "the same seed gives the same values everywhere"}
	}
	return seed, nil
}

// number reads a decimal or 0x hexadecimal number of up to 64 bits. A leading 0 means nothing: 010 is ten.
func number(text string) (uint64, bool) {
	text = strings.TrimSpace(text)
	base := 10
	if t, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = t, 16
	}
	v, err := strconv.ParseUint(text, base, 64)
	return v, err == nil
}

func parseList(f *packet.Field, args []string) (Value, *fault) {
	if len(args) > maxList {
		return Value{}, &fault{fmt.Sprintf("a list of %d values is longer than %d", len(args), maxList), "use inc or rand"}
	}
	v := Value{Op: List, List: make([]packet.Num, len(args))}
	for i, a := range args {
		n, bad := parseNum(f, a)
		if bad != nil {
			return v, &fault{fmt.Sprintf("value %d of the list: %s", i+1, bad.message), bad.mend}
		}
		v.List[i] = n
	}
	return v, nil
}

// notation says what a field takes.
func notation(f *packet.Field) string {
	switch f.Type {
	case packet.MAC:
		return "a MAC address of six bytes such as 02:00:00:00:00:01"
	case packet.IPv4:
		return "an IPv4 address such as 198.18.0.1"
	case packet.IPv6:
		return "an IPv6 address such as 2001:2::1"
	default:
		return "a number from 0 to " + packet.FormatNum(f, f.Max())
	}
}
