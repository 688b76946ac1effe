package repocheck

import "testing"

func TestPackageNames(t *testing.T) {
	t.Parallel()
	runCases(t, []ruleCase{
		{"a concept is a name", checkPackageNames, sample{"internal/lease/a.go": "package lease\n"}, nil},
		{"util is not", checkPackageNames, sample{"internal/util/a.go": "package util\n"}, []string{`"util" says nothing`}},
		{"nor is a clause that differs from the folder", checkPackageNames, sample{"internal/lease/a.go": "package helpers\n"}, []string{`"helpers" says nothing`}},
	})
}

func TestSkips(t *testing.T) {
	t.Parallel()
	body := func(call string) string {
		return "package p\nimport \"testing\"\nfunc TestX(t *testing.T) { " + call + " }\n"
	}
	runCases(t, []ruleCase{
		{"t.Skip", checkSkips, sample{"p/a_test.go": body(`t.Skip("x")`)}, []string{"p/a_test.go:3: t.Skip"}},
		{"t.Skipf inside a condition", checkSkips, sample{"p/a_test.go": body(`if true { t.Skipf("x") }`)}, []string{"t.Skipf"}},
		{"t.SkipNow in test support", checkSkips, sample{"p/a.go": body(`t.SkipNow()`)}, []string{"t.SkipNow"}},
		{"another Skip is fine", checkSkips, sample{"p/a_test.go": body(`reader.Skip(3)`)}, nil},
	})
}

func TestSleeps(t *testing.T) {
	t.Parallel()
	const body = "func f() { time.Sleep(1) }\n"
	runCases(t, []ruleCase{
		{"in a test", checkSleeps, sample{"p/a_test.go": "package p\nimport \"time\"\n" + body}, []string{"p/a_test.go:3: time.Sleep"}},
		{"in the product", checkSleeps, sample{"p/a.go": "package p\nimport \"time\"\n" + body}, []string{"time.Sleep"}},
		{"under another name", checkSleeps, sample{"p/a.go": "package p\nimport clk \"time\"\nfunc f() { clk.Sleep(1) }\n"}, []string{"time.Sleep"}},
		{"fake time may pass", checkSleeps, sample{"p/a_test.go": "package p\nimport \"time\"\nimport \"testing/synctest\"\n" + body}, nil},
		{"another Sleep is fine", checkSleeps, sample{"p/a.go": "package p\nfunc f() { clock.Sleep(1) }\n"}, nil},
	})
}

func TestInits(t *testing.T) {
	t.Parallel()
	runCases(t, []ruleCase{
		{"init", checkInits, sample{"p/a.go": "package p\nfunc init() {}\n"}, []string{"p/a.go:2: init function"}},
		{"a method named init is fine", checkInits, sample{"p/a.go": "package p\nfunc (x T) init() {}\n"}, nil},
	})
}

func TestHTTPClients(t *testing.T) {
	t.Parallel()
	body := func(expr string) string {
		return "package p\nimport \"net/http\"\nvar x = " + expr + "\n"
	}
	finding := []string{"opens a way out beside internal/egress"}
	for _, expr := range []string{
		"http.Client{}", "&http.Client{}", "new(http.Client)", "&http.Transport{}", "http.DefaultClient",
		"http.DefaultTransport.(*http.Transport).Clone()", `http.Get("x")`, `http.Post("x", "y", nil)`, "struct{ c http.Client }{}",
	} {
		runCases(t, []ruleCase{{expr, checkHTTPClients, sample{"internal/web/a.go": body(expr)}, finding}})
	}
	for _, expr := range []string{"func(c *http.Client) {}", `must(http.NewRequest("GET", "x", nil))`, "http.Server{}", "struct{ c *http.Client }{}"} {
		runCases(t, []ruleCase{{expr, checkHTTPClients, sample{"internal/web/a.go": body(expr)}, nil}})
	}
	const socket = "package p\nimport \"github.com/coder/websocket\"\nvar x = websocket.Dial\n"
	runCases(t, []ruleCase{
		{"a dialled WebSocket", checkHTTPClients, sample{"internal/web/a.go": socket}, finding},
		{"under another name", checkHTTPClients, sample{"internal/web/a.go": "package p\nimport h \"net/http\"\nvar x = h.Client{}\n"}, finding},
		{"egress itself", checkHTTPClients, sample{"internal/egress/a.go": body("http.Client{}")}, nil},
		{"the client library", checkHTTPClients, sample{"client/a.go": body("http.Client{}") + "\n"}, nil},
		{"tests", checkHTTPClients, sample{"internal/web/a_test.go": body("http.Client{}")}, nil},
		{"test support", checkHTTPClients, sample{"internal/crashtest/a.go": body("http.Client{}")}, nil},
	})
}
