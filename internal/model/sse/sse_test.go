package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model/sse"
)

type event struct{ Name, Data, ID string }

func collect(r io.Reader, limit int) (events []event, err error) {
	for ev, e := range sse.Events(r, limit) {
		if e != nil {
			return events, e
		}
		events = append(events, event{ev.Name, string(ev.Data), ev.ID})
	}
	return events, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []event
	}{
		"one event":                        {"data: a\n\n", []event{{"", "a", ""}}},
		"name and id":                      {"event: e\nid: 7\ndata: a\n\n", []event{{"e", "a", "7"}}},
		"name does not leak to the next":   {"event: e\ndata: a\n\ndata: b\n\n", []event{{"e", "a", ""}, {"", "b", ""}}},
		"data lines join":                  {"data: a\ndata: b\n\n", []event{{"", "a\nb", ""}}},
		"only one space is removed":        {"data:  a\ndata:b\n\n", []event{{"", " a\nb", ""}}},
		"CRLF":                             {"data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a", ""}, {"", "b", ""}}},
		"CR":                               {"data: a\r\rdata: b\r\r", []event{{"", "a", ""}, {"", "b", ""}}},
		"comments are skipped":             {": ping\n\n:\ndata: a\n: x\n\n", []event{{"", "a", ""}}},
		"byte order mark":                  {"\ufeffdata: a\n\n", []event{{"", "a", ""}}},
		"missing last blank line":          {"data: a\n\ndata: b\n", []event{{"", "a", ""}, {"", "b", ""}}},
		"missing last line end":            {"data: a", []event{{"", "a", ""}}},
		"event without data is not raised": {"event: ping\n\ndata: a\n\n", []event{{"", "a", ""}}},
		"empty data is raised":             {"data:\n\n", []event{{"", "", ""}}},
		"unknown fields are skipped":       {"retry: 5\nfoo\ndata: a\n\n", []event{{"", "a", ""}}},
		"nothing":                          {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := collect(r, 0)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: %s", way, diff)
				}
			}
		})
	}
}

func TestALongStreamSurvivesTheSmallBuffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	got, err := collect(strings.NewReader("data: "+long+"\n\ndata: b\n\n"), 0)
	if err != nil || len(got) != 2 || got[0].Data != long || got[1].Data != "b" {
		t.Fatalf("got %d events, err %v", len(got), err)
	}
}

func TestAnEventIsBoundedWhetherInOneLineOrInMany(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 2000) + "\n\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 100)+"\n", 20) + "\n",
		"no end":     strings.Repeat("x", 2000),
	} {
		if _, err := collect(strings.NewReader(in), 1000); !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestABrokenConnectionIsAnErrorAndItsPartialEventIsLost(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	r := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken))
	got, err := collect(r, 0)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestAnEventArrivesBeforeTheServerSendsMore(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		pr, pw := io.Pipe()
		go func() { _, _ = pw.Write([]byte("data: a" + end)) }()
		for ev, err := range sse.Events(pr, 0) {
			if err != nil || string(ev.Data) != "a" {
				t.Errorf("%q: %q, %v", end, ev.Data, err)
			}
			break
		}
		_ = pr.Close()
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	for line, err := range sse.Lines(strings.NewReader("\ufeff{\"a\":1}\r\n\n  \n{\"b\":2}\n{\"c\":3}"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range sse.Lines(strings.NewReader(strings.Repeat("x", 100)), 10) {
		if !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("err = %v", err)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("event: a\r\ndata: b\r\n\r\n: c\ndata\n\n", 64)
	f.Add("\ufeffdata: x\rdata: y\r\r", 8)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		whole, err := collect(strings.NewReader(in), limit)
		pieces, err2 := collect(iotest.OneByteReader(strings.NewReader(in)), limit)
		if !errors.Is(err, err2) || !cmp.Equal(whole, pieces) {
			t.Fatalf("chunking changed the result: %v %v / %v %v", whole, err, pieces, err2)
		}
		for _, ev := range whole {
			if limit > 0 && len(ev.Data) > limit {
				t.Fatalf("event of %d bytes under a limit of %d", len(ev.Data), limit)
			}
		}
	})
}
