//go:build script

package script_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/script"
)

func TestWhatAScriptMayNotUseIsRefusedAtOnceWithItsPlaceAndTheWay(t *testing.T) {
	t.Parallel()
	const source = `export default async function (input, ctx) {
  const t = Date.now();
  await new Promise((r) => setTimeout(r, 10));
  const n = Math.random() + Math.floor(1.5);
  return fetch("https://example.com/" + t + n);
}`
	_, err := compiler().Compile(t.Context(), source)
	r, ok := errors.AsType[*script.Refused](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, p := range r.Problems {
		got = append(got, strings.SplitN(p.String(), ";", 2)[0])
	}
	want := []string{
		"line 2, column 13: Date is refused: scripts replay, so they have no clock",
		"line 3, column 28: setTimeout is refused: scripts have no timers",
		"line 4, column 13: Math.random is refused: scripts replay, so they have no randomness",
		"line 5, column 10: fetch is refused: scripts reach the network through the agent's tools",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(err.Error(), "ctx.now()") || !strings.Contains(err.Error(), "ctx.sleep(") || !strings.Contains(err.Error(), "ctx.call(") {
		t.Errorf("the ways are not named: %v", err)
	}
}

func TestNamesInTextsPropertiesAndOwnDeclarationsAreNobodysBusiness(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`export default async function (input, ctx) { /* Date, eval( and require( */ return "Math.random() fetch( process. globalThis" }`,
		`export default async function (input, ctx) { return input.Date ?? input?.fetch }`,
		`export default async function (input, ctx) { const fetch = (a) => ctx.call("read", { address: a }); return fetch("~/self") }`,
		`const process = (x) => x; export default async (input, ctx) => process(input)`,
		`type Date = { at: number }; export default async (input: Date, ctx: any): Promise<number> => input.at satisfies number`,
		`async function main(input, ctx) { return 1 } export { main as default }`,
		`export default async function main(input, ctx) { return input > 0 ? main(input - 1, ctx) : 0 }`,
		`enum Colour { Red = 1 } export default async (input, ctx) => Colour.Red`,
	} {
		if _, err := compiler().Compile(t.Context(), source); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestAProgramThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		``:                   "exports 0",
		`export const x = 1`: "exports 1",
		`export default async () => 1; export const x = 1`: "exports 2",
		`export default 5`:                                                                        "must be an async function",
		`export default function (input, ctx) {}`:                                                 "must be an async function",
		`export default async (input, ctx) => {`:                                                  "line 1",
		"const x = 1;\nconst x = 2;\nexport default async () => x":                                "line 2, column 7: ",
		`import fs from 'fs'; export default async () => fs`:                                      "one file",
		`export default async () => import('x')`:                                                  "one file",
		`export default async () => require('x')`:                                                 "require is refused",
		`export default async () => eval('1')`:                                                    "eval is refused",
		`export default async () => new Function('return 1')()`:                                   "Function is refused",
		`export default async () => globalThis.Date`:                                              "globalThis is refused",
		`export default async () => typeof process`:                                               "process is refused",
		`export default async () => import.meta.url`:                                              "import.meta is refused",
		`null.x; export default async () => 1`:                                                    "TypeError",
		`for (;;) {} export default async () => 1`:                                                "computed for too long",
		`const a = []; for (;;) a.push('x'.repeat(1e5) + a.length); export default async () => 1`: "more memory",
		`export default async () => __loam_refused_1`:                                             "reserved",
		"export default async () => 1 //" + strings.Repeat("x", script.MaxSource):                 "more than 256 KiB",
		"export default async () => " + strings.Repeat("!", 250_000) + "1":                        "too deeply nested",
		"export default async () => " + strings.Repeat("[", 120_000):                              "",
	} {
		_, err := compiler().Compile(t.Context(), source)
		if _, ok := errors.AsType[*script.Refused](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %.300v, want a refusal that says %q", source, err, want)
		}
	}
}

func TestTheSameSourceIsTranslatedOnce(t *testing.T) {
	t.Parallel()
	const source = `export default async (input: number) => input`
	first, second := compile(t, source), compile(t, source)
	if first != second || strings.Contains(first.Code, ": number") || first.Source != source || first.Engine == "" {
		t.Errorf("got %+v and %+v", first, second)
	}
}
