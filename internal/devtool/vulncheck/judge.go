package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// finding is one vulnerability that the code reaches.
type finding struct {
	id, summary, module, version, fixed string
	// path leads from our code to the vulnerable symbol.
	path []string
}

// message is one element of govulncheck's JSON stream; the others are ignored.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV          string  `json:"osv"`
		FixedVersion string  `json:"fixed_version"`
		Trace        []frame `json:"trace"`
	} `json:"finding"`
}

// frame is one step of a trace; the vulnerable symbol comes first.
type frame struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Function string `json:"function"`
	Receiver string `json:"receiver"`
}

func (f frame) String() string {
	if f.Receiver != "" {
		return f.Package + ".(" + f.Receiver + ")." + f.Function
	}
	return f.Package + "." + f.Function
}

// parseFindings keeps the vulnerabilities whose symbols are called, one for each
// id; a vulnerable symbol that is only present in a module is not reached.
func parseFindings(stream io.Reader) (map[string]finding, error) {
	summaries := map[string]string{}
	reached := map[string]finding{}
	decoder := json.NewDecoder(stream)
	for {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 || m.Finding.Trace[0].Function == "" {
			continue
		}
		if _, known := reached[m.Finding.OSV]; known {
			continue
		}
		symbol := m.Finding.Trace[0]
		f := finding{id: m.Finding.OSV, module: symbol.Module, version: symbol.Version, fixed: m.Finding.FixedVersion}
		for _, step := range slices.Backward(m.Finding.Trace) {
			f.path = append(f.path, step.String())
		}
		reached[f.id] = f
	}
	for id, f := range reached {
		f.summary = summaries[id]
		reached[id] = f
	}
	return reached, nil
}

func (f finding) String() string {
	remedy := "no version repairs it yet"
	if f.fixed != "" {
		remedy = "repaired in " + f.fixed
	}
	return fmt.Sprintf("%s in %s@%s (%s): %s\n  %s", f.id, f.module, f.version, remedy, f.summary, strings.Join(f.path, "\n  → "))
}

// parseAllowed reads "ID reason" lines; # starts a comment.
func parseAllowed(text string) (map[string]string, error) {
	allowed := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		id, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case id == "":
		case strings.TrimSpace(reason) == "":
			return nil, fmt.Errorf("%s has no reason: say why it does not hurt us, and until when", id)
		default:
			allowed[id] = strings.TrimSpace(reason)
		}
	}
	return allowed, nil
}

// judge lists what is reached without being accepted and what is accepted
// without being reached.
func judge(reached map[string]finding, allowed map[string]string) []string {
	var problems []string
	for _, id := range slices.Sorted(maps.Keys(reached)) {
		if _, accepted := allowed[id]; !accepted {
			problems = append(problems, reached[id].String())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(allowed)) {
		if _, found := reached[id]; !found {
			problems = append(problems, fmt.Sprintf("%s: %s is not reached any more: remove the entry", allowFile, id))
		}
	}
	return problems
}
