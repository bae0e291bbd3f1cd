// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const pathObject = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    a.b/c: dotted
    it's: apostrophe
    "0": digit
    "": empty
  finalizers: [a.b/c, d]
spec:
  ports:
  - {name: http, port: 80}
  - {name: "a b", port: 81}
  - {port: 82, tls: true}
  - {port: 82, tls: false}
  - {port: 83, protocol: UDP, name: dns}
  - {port: 83, name: dns-tcp}
  containers:
  - image: one
  - image: two
  nothing: null
  matrix: [[1, 2], [3]]
`

func TestPath_Lookup(t *testing.T) {
	type want struct {
		value any
		found bool
	}
	cases := map[string]struct {
		reason string
		path   string
		want   want
	}{
		"Field":             {"Fields are followed.", ".metadata.name", want{"web", true}},
		"NoLeadingDot":      {"The first dot may be left out.", "metadata.name", want{"web", true}},
		"QuotedKey":         {"A quoted name may hold dots and slashes.", `.metadata.annotations["a.b/c"]`, want{"dotted", true}},
		"SingleQuotedKey":   {"Single quotes do as well.", `.metadata.annotations['a.b/c']`, want{"dotted", true}},
		"ApostropheKey":     {"Double quotes may hold an apostrophe.", `.metadata.annotations["it's"]`, want{"apostrophe", true}},
		"EmptyKey":          {"An empty name is a name.", `.metadata.annotations[""]`, want{"empty", true}},
		"DigitKey":          {"Digits after a dot are a name.", `.metadata.annotations.0`, want{"digit", true}},
		"Index":             {"An index counts from 0.", ".spec.containers[1].image", want{"two", true}},
		"IndexBeyond":       {"An index beyond the list finds nothing.", ".spec.containers[2].image", want{}},
		"IndexHuge":         {"The largest index finds nothing and costs nothing.", ".spec.containers[2147483647]", want{}},
		"IndexOnObject":     {"An object has no places.", ".spec[0]", want{}},
		"IndexTwice":        {"A list in a list is reached.", ".spec.matrix[1][0]", want{int64(3), true}},
		"EntryByString":     {"An entry is found by a field.", ".spec.ports[name=http].port", want{int64(80), true}},
		"EntryByQuoted":     {"The value may be quoted.", `.spec.ports[name="a b"].port`, want{int64(81), true}},
		"EntryByNumber":     {"A number is compared by its text; the first entry counts.", ".spec.ports[port=82].tls", want{true, true}},
		"EntryByBool":       {"A bool is compared by its text.", ".spec.ports[tls=false].port", want{int64(82), true}},
		"EntryByTwo":        {"An entry is found by several fields.", ".spec.ports[port=83,protocol=UDP].name", want{"dns", true}},
		"EntryByDefault":    {"A port without a protocol has TCP.", ".spec.ports[port=83,protocol=TCP].name", want{"dns-tcp", true}},
		"EntryByOrder":      {"The order of the fields says nothing.", ".spec.ports[protocol=UDP,port=83].name", want{"dns", true}},
		"EntryHalf":         {"All fields have to match.", ".spec.ports[port=80,protocol=UDP]", want{}},
		"EntryByValue":      {"An entry is found by itself.", `.metadata.finalizers[="a.b/c"]`, want{"a.b/c", true}},
		"EntryByOwnValue":   {"An object is no plain value.", `.spec.ports[=80]`, want{}},
		"EntryMissing":      {"No entry has the value.", ".spec.ports[name=grpc].port", want{}},
		"EntryFieldMissing": {"No entry has the field.", ".spec.ports[protocol=TCP]", want{}},
		"EntryOnObject":     {"An object has no entries.", ".metadata[name=web]", want{}},
		"FieldOnList":       {"A list has no fields.", ".spec.containers.image", want{}},
		"FieldOnString":     {"A string has no fields.", ".metadata.name.first", want{}},
		"Missing":           {"A field that is not there is not found.", ".status.phase", want{}},
		"Null":              {"Null is as good as not there.", ".spec.nothing", want{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			value, found := path(t, tc.path).Lookup(object(t, pathObject))
			if diff := cmp.Diff(tc.want, want{value, found}, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\nLookup(%s): -want, +got:\n%s", tc.reason, tc.path, diff)
			}
		})
	}
}

func TestPath_LookupInNothing(t *testing.T) {
	p := path(t, ".metadata.name")
	for name, obj := range map[string]*unstructured.Unstructured{"Nil": nil, "Empty": {}} {
		t.Run(name, func(t *testing.T) {
			if value, found := p.Lookup(obj); found {
				t.Errorf("Lookup() = %v, want nothing", value)
			}
		})
	}
	if value, found := (Path{}).Lookup(object(t, pathObject)); found {
		t.Errorf("Lookup() with the zero path = %v, want nothing", value)
	}
}

func TestParsePath_Spelling(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"Canonical":     {".a.b[0][c=d].e", ".a.b[0][c=d].e"},
		"LeadingDot":    {"a.b", ".a.b"},
		"NeedlessQuote": {`["a"]['b-c']`, ".a.b-c"},
		"NeededQuote":   {`['a.b']`, `["a.b"]`},
		"Escape":        {`["a\"\u0041"]`, `["a\"A"]`},
		"EntryQuoted":   {`.a[k='x']`, `.a[k=x]`},
		"EntrySpace":    {`.a[k='x y']`, `.a[k="x y"]`},
		"EntrySeveral":  {`.a[l="y",k='x y']`, `.a[k="x y",l=y]`},
		"EntryItself":   {`.a[="b"]`, `.a[=b]`},
		"LeadingZero":   {".a[007]", ".a[7]"},
		"ImageLike":     {".a[image=ghcr.io/a/b:v1.2]", ".a[image=ghcr.io/a/b:v1.2]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := path(t, tc.text).String(); got != tc.want {
				t.Errorf("ParsePath(%s).String() = %s, want %s", tc.text, got, tc.want)
			}
		})
	}
}

func TestParsePath_Errors(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		position int
		says     string
	}{
		"Empty":          {"There is no path.", "", 1, "empty"},
		"OnlyDot":        {"A dot needs a name.", ".", 2, "ends where a field name"},
		"TwoDots":        {"A name is missing.", ".a..b", 4, `["a.b/c"]`},
		"TrailingDot":    {"The last name is missing.", ".a.", 4, "ends"},
		"Slash":          {"A slash has to be quoted.", ".a/b", 3, `'/'`},
		"Backslash":      {"Backslash is no escape outside quotes.", `.a\.b`, 3, `'\\'`},
		"Wildcard":       {"There are no wildcards.", ".a[*]", 4, "an index or name=value"},
		"NegativeIndex":  {"An index counts from the front.", ".a[-1]", 4, `'-'`},
		"HugeIndex":      {"An index has to fit.", ".a[2147483648]", 4, "larger than 2147483647"},
		"OverflowIndex":  {"An index has to fit even more.", ".a[99999999999999999999]", 4, "larger than"},
		"IndexWithText":  {"An index is digits only.", ".a[1x]", 5, `"]"`},
		"OpenBracket":    {"The bracket is not closed.", ".a[0", 5, `"]"`},
		"EmptyBracket":   {"The bracket is empty.", ".a[]", 4, "an index"},
		"BareKey":        {"A name in brackets is quoted.", ".a[b]", 5, `["name"]`},
		"NoEntryValue":   {"The value is missing.", ".a[b=]", 6, "a value"},
		"EntryWithSpace": {"A space has to be quoted.", ".a[b=c d]", 7, `"]"`},
		"EntryTwice":     {"A field has one value.", ".a[b=c,d=e,b=f]", 12, "given twice"},
		"EntryOpen":      {"After a comma another field stands.", ".a[b=c,]", 8, "a field name"},
		"OpenQuote":      {"The quote is not closed.", `.a["b`, 4, "not closed"},
		"OpenSingle":     {"The single quote is not closed.", `.a['b"]`, 4, "not closed"},
		"BadEscape":      {"The escape is unknown.", `.a["\q"]`, 4, "escape"},
		"AfterBracket":   {"A dot is missing.", ".a[0]b", 6, `"." or "["`},
		"Space":          {"A space is no part of a name.", ".a b", 3, `' '`},
		"NotASCII":       {"Letters beyond ASCII are quoted.", ".ä", 2, `'ä'`},
		"TooLong":        {"A path is bounded.", strings.Repeat(".a", MaxPathLength), MaxPathLength + 1, "longer"},
		"TooLongEscaped": {"So is its canonical spelling.", `.a['` + strings.Repeat("\x01", MaxPathLength/2) + `']`, MaxPathLength/2 + 7, "escaped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePath(tc.text)
			var pathErr *PathError
			if !errors.As(err, &pathErr) {
				t.Fatalf("%s\nParsePath(%q) = %q, %v, want a PathError", tc.reason, tc.text, got, err)
			}
			if pathErr.Position != tc.position || !strings.Contains(pathErr.Reason, tc.says) {
				t.Errorf("%s\nParsePath(%q): position %d, reason %q, want position %d and a reason with %q",
					tc.reason, tc.text, pathErr.Position, pathErr.Reason, tc.position, tc.says)
			}
			if got.String() != "" {
				t.Errorf("ParsePath(%q) returns the path %q with its error", tc.text, got)
			}
		})
	}
}

func TestPath_LookupDoesNotAllocate(t *testing.T) {
	obj := object(t, pathObject)
	for _, text := range []string{".metadata.name", ".spec.containers[2147483647]", ".spec.ports[name=http].port", ".spec.ports[port=83,protocol=TCP].name"} {
		p := path(t, text)
		if n := testing.AllocsPerRun(100, func() { p.Lookup(obj) }); n > 0 {
			t.Errorf("Lookup(%s) allocates %v times, want 0", text, n)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"", ".", ".a", "a.b[0].c", `.metadata.annotations["a.b/c"]`, ".status.conditions[type=Ready].status",
		`.a['b'][k="v w"]`, ".a[99999999999]", ".a[b=c,d=e]", `.a[="b"]`, `.a["\x00"]`, "[[", "]]", `.ä["ä"]`,
	} {
		f.Add(seed)
	}
	obj := object(f, pathObject)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			var pathErr *PathError
			if !errors.As(err, &pathErr) || pathErr.Position < 1 || pathErr.Position > len(text)+1 {
				t.Fatalf("ParsePath(%q): %v is no PathError inside the text", text, err)
			}
			return
		}
		again, err := ParsePath(p.String())
		if err != nil {
			t.Fatalf("ParsePath(%q) spells %q, which is refused: %v", text, p, err)
		}
		if diff := cmp.Diff(p, again, cmp.AllowUnexported(Path{}, step{}, entryKey{})); diff != "" {
			t.Fatalf("ParsePath(%q) spells %q, which is another path:\n%s", text, p, diff)
		}
		p.Lookup(obj)
	})
}

// TestSteps_RoundTrip spells random steps, and reads them back: what is printed of a
// path is a path.
func TestSteps_RoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		const letters = `ab09_-./:,=[]"'\ *ä` + "\x00"
		runes := []rune(letters)
		out := make([]rune, random.IntN(6))
		for i := range out {
			out[i] = runes[random.IntN(len(runes))]
		}
		return string(out)
	}
	values := []func() any{
		func() any { return text() }, func() any { return random.Int64N(100000) }, func() any { return random.IntN(2) == 0 },
		func() any { return float64(random.IntN(1000)) / 8 },
	}
	for range 5000 {
		entry := map[string]any{}
		for _, field := range []string{"port", "protocol", "name"} {
			entry[field] = values[random.IntN(len(values))]()
		}
		delete(entry, []string{"port", "name", ""}[random.IntN(3)])
		plain, name, leaf := values[random.IntN(len(values))](), text(), random.Int64()
		obj := &unstructured.Unstructured{Object: map[string]any{name: []any{map[string]any{"port": "other"}, entry}, "plain": []any{"none of them", plain}}}
		entry["leaf"] = leaf
		keys := maps.Clone(entry)
		delete(keys, "leaf")

		for want, spelled := range map[any]string{leaf: FieldStep(name) + EntryStep(keys) + ".leaf", plain: ".plain" + EntryStep(map[string]any{"": plain})} {
			if name == "plain" {
				continue
			}
			p, err := ParsePath(spelled)
			if err != nil {
				t.Fatalf("%s: %v", spelled, err)
			}
			if got, found := p.Lookup(obj); !found || got != want {
				t.Fatalf("Lookup(%s) = %v, %v, want %v", spelled, got, found, want)
			}
			if p.String() != spelled {
				t.Fatalf("ParsePath(%s) spells %s", spelled, p)
			}
			pattern, err := ParsePattern(spelled)
			if err != nil || !pattern.Covers(p) {
				t.Fatalf("ParsePattern(%s) does not cover the path: %v", spelled, err)
			}
			if _, left := p.Lookup(&unstructured.Unstructured{Object: pattern.Without(obj.Object)}); left {
				t.Fatalf("Without(%s) leaves the field", spelled)
			}
		}
	}
}
