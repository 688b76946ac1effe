// Command scriptengine builds the engine that runs scripts: it takes QuickJS-NG as WebAssembly from the quickjs-wasi package,
// has wasm2go translate it to Go, and adds what a server needs that runs other people's programs:
//
//   - a check in every loop, which counts what a program computes and lets it be stopped at any moment, also inside a builtin function;
//   - a bound on the memory of each instance;
//   - a memory that the caller provides, so that an instance can start from the image of another.
//
// The result is third-party code and is not committed: `make script-engine` writes it into internal/script/quickjs/translated,
// where the build tag "script" makes it part of the product. The program is tooling for developers.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

func main() {
	source := flag.String("source", "internal/devtool/scriptengine/node_modules/quickjs-wasi", "folder of the quickjs-wasi package")
	out := flag.String("out", "internal/script/quickjs/translated", "folder of the Go package that is written")
	flag.Parse()
	if err := build(*source, *out); err != nil {
		fmt.Fprintln(os.Stderr, "scriptengine:", err)
		os.Exit(1)
	}
}

// build makes the package beside the old one, which it replaces only when everything has worked.
func build(source, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(out), ".translated-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fill(dir, source); err != nil {
		return err
	}
	return errors.Join(os.Chmod(dir, 0o755), os.RemoveAll(out), os.Rename(dir, out))
}

// fill writes the package: the guarded translation, its data, and the licence of what was translated.
func fill(dir, source string) error {
	wasm := filepath.Join(source, "quickjs.wasm")
	program, err := os.ReadFile(wasm)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "quickjs.go")
	if err := translate(wasm, file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	guarded, err := guard(text)
	if err != nil {
		return err
	}
	guarded = fmt.Appendf(guarded, "\n// Hash is the beginning of the SHA-256 of the program that was translated.\nconst Hash = %q\n", fmt.Sprintf("%x", sha256.Sum256(program))[:16])
	notices, err := licences(source)
	return errors.Join(err, os.WriteFile(file, guarded, 0o644), os.WriteFile(filepath.Join(dir, "licences.json"), notices, 0o644))
}

// authors are those of the engine inside the package, which the package's own licence does not name.
const authors = "Copyright (c) 2017-2024 Fabrice Bellard\nCopyright (c) 2017-2024 Charlie Gordon\n" +
	"Copyright (c) 2023-2026 Ben Noordhuis\nCopyright (c) 2023-2026 Saúl Ibarra Corretgé"

// licences lists what a binary with the engine has to carry, in the form that the build of the page uses too.
func licences(source string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var pkg struct{ Version string }
	manifest, err := os.ReadFile(filepath.Join(source, "package.json"))
	if err := errors.Join(err, json.Unmarshal(manifest, &pkg)); err != nil {
		return nil, err
	}
	own := regexp.MustCompile(`(?m)^Copyright .*$`).ReplaceAllString(string(text), authors)
	return json.Marshal([]map[string]string{
		{"name": "quickjs-wasi", "version": pkg.Version, "licence": "MIT", "text": string(text)},
		{"name": "quickjs-ng (inside quickjs-wasi)", "version": pkg.Version, "licence": "MIT", "text": own},
	})
}

// translate runs wasm2go, at the version that tools/go.mod names.
func translate(wasm, file string) error {
	cmd := exec.Command("go", "tool", "-modfile=tools/go.mod", "wasm2go", "-unsafe", "-embed", "-tags", "script", "-pkg", "translated", "-o", file, wasm)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("wasm2go: %w\n%s", err, output)
	}
	return nil
}
