package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is one thing that is distributed with our binary.
type module struct {
	path, version string
	// root is the module's folder; folders are those of its linked packages.
	root    string
	folders []string
}

// listed is what `go list -json` says of a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linkedModules asks the go command what the packages are built from, in order
// of path with the standard library first.
func linkedModules(packages []string) ([]*module, error) {
	args := append([]string{"list", "-deps", "-json=Dir,Standard,Module"}, packages...)
	list := exec.Command("go", args...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	goRoot, goVersion, err := toolchain()
	if err != nil {
		return nil, err
	}
	byPath := map[string]*module{"": {path: "Go standard library", version: goVersion, root: goRoot}}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		if byPath[p.Module.Path] == nil {
			byPath[p.Module.Path] = &module{path: p.Module.Path, version: p.Module.Version, root: p.Module.Dir}
		}
		byPath[p.Module.Path].folders = append(byPath[p.Module.Path].folders, p.Dir)
	}
	return inOrder(byPath), nil
}

func inOrder(byPath map[string]*module) []*module {
	var modules []*module
	for _, m := range byPath {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b *module) int { return cmp.Compare(a.path, b.path) })
	return modules
}

func toolchain() (root, version string, err error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return "", "", fmt.Errorf("go env: %w", err)
	}
	root, version, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return root, version, nil
}

// legalFile matches the names under which modules keep their legal texts.
var legalFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright|unlicense)([-._].*)?$`)

// sourceFile matches code that happens to be called license.go.
var sourceFile = regexp.MustCompile(`(?i)\.(go|s|c|h|js|py|sh|tmpl)$`)

// texts finds the legal texts that cover a module's linked packages: those of
// its root and of every folder between the root and a package.
func (m *module) texts() ([]string, error) {
	folders := []string{m.root}
	for _, folder := range m.folders {
		for folder != m.root && strings.HasPrefix(folder, m.root) {
			folders = append(folders, folder)
			folder = filepath.Dir(folder)
		}
	}
	slices.Sort(folders)
	var found []string
	for _, folder := range slices.Compact(folders) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() && legalFile.MatchString(entry.Name()) && !sourceFile.MatchString(entry.Name()) {
				found = append(found, filepath.Join(folder, entry.Name()))
			}
		}
	}
	return found, nil
}

const rule = "================================================================================"

func write(out io.Writer, modules []*module) error {
	fmt.Fprintf(out, "Loam contains the following third-party software.\n")
	for _, m := range modules {
		files, err := m.texts()
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s@%s has no licence text and cannot be distributed", m.path, m.version)
		}
		fmt.Fprintf(out, "\n%s\n%s %s\n%s\n", rule, m.path, m.version, rule)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(m.root, file)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "\n--- %s\n\n%s\n", filepath.ToSlash(name), strings.TrimRight(string(text), "\n"))
		}
	}
	return nil
}

// writeList adds what stands in the bundle of the page, as its build lists it.
func writeList(out io.Writer, list string) error {
	body, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var notices []struct{ Name, Version, Licence, Text string }
	if err := json.Unmarshal(body, &notices); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	for _, n := range notices {
		if n.Text == "" {
			return fmt.Errorf("%s@%s has no licence text and cannot be distributed", n.Name, n.Version)
		}
		fmt.Fprintf(out, "\n%s\n%s %s (npm, %s)\n%s\n\n%s\n", rule, n.Name, n.Version, n.Licence, rule, n.Text)
	}
	return nil
}
