# A newcomer needs two commands: `make run` and `make test`. `make help` lists the rest.

.DEFAULT_GOAL := help
SHELL := /bin/sh

# Everything is built with one toolchain, which any Go from 1.21 on fetches.
export GOTOOLCHAIN := go1.27.3
# The product has no C inside; only the race detector needs it (see test).
export CGO_ENABLED := 0

# What a build says about itself. A tree without git, such as an unpacked archive, says "dev".
VERSION = $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo dev)
COMMIT  = $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
BRANCH  = $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
DATE    = $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null || echo unknown)
BUILDINFO = github.com/loam-agents/loam/internal/buildinfo
LDFLAGS = -X $(BUILDINFO).Version=$(VERSION) -X $(BUILDINFO).Commit=$(COMMIT) -X $(BUILDINFO).Branch=$(BRANCH) -X $(BUILDINFO).Date=$(DATE)

# Programs for developers, built once per change of their source.
TOOLS := .cache/bin
STATICCHECK := go tool -modfile=tools/go.mod staticcheck

# Narrow a run with: make test PKG=./internal/runs/...
PKG ?= ./...
# SQLite and the script engine under the race detector are many times slower and not ours to check.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=github.com/loam-agents/loam/internal/script/quickjs/translated=-race=false
FUZZTIME ?= 20s
# Random kills of make crash, on both databases together.
ROUNDS ?= 2000
# In CI every test is named.
VERBOSE := $(if $(CI),-v)
# What the page is made from. Its bundle is embedded by the build tag.
CONSOLE := $(shell find console/src console/public console/scripts -type f) \
	$(wildcard console/*.json console/*.ts console/*.html console/.npmrc)
# What the script engine is made from. Its Go package is built, not committed, and used with the build tag.
ENGINE := $(wildcard internal/devtool/scriptengine/*.go internal/devtool/scriptengine/*.json) tools/go.mod
CONSOLE_TESTS := $(shell find console/browser -type f)

.PHONY: help run script-engine build test test-console bench-console shots check lint format-check vet staticcheck tidy-check vulncheck vulndb crash bench microbench fuzz fmt licences release clean tools

help: ## list these commands
	@echo "make run     start Loam on this machine; no key, no database server needed"
	@echo "make test    set up and pass every test"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## build and start the server (ARGS='--listen …' passes flags)
	@.ci/need go node
	@echo "loam: fetching the Go toolchain $(GOTOOLCHAIN) if it is not there yet …"
	@go version
	@echo "loam: building; the first time takes a few minutes and fetches the libraries …"
	@$(MAKE) --no-print-directory build
	@echo "loam: starting with data in ./loam-data; talk to it with bin/loam chat in another terminal. Ctrl-C ends it."
	@exec bin/loam serve $(ARGS)

build: console/dist/index.html .cache/script-engine ## build bin/loam with the page and the script engine inside
	@.ci/need go
	go build -trimpath -buildvcs=false -tags console,script -ldflags "$(LDFLAGS)" -o bin/loam ./cmd/loam

# What npm installs changes with the lock file only.
.cache/console-packages: console/package-lock.json console/.npmrc
	@.ci/need node
	@echo "console: installing packages …"
	@cd console && npm ci --no-audit --no-fund --loglevel=error
	@mkdir -p .cache && touch $@

console/dist/index.html: .cache/console-packages $(CONSOLE)
	@echo "console: building the page …"
	@cd console && npm run --silent build -- --logLevel warn

script-engine: .cache/script-engine ## build the engine that runs scripts

.cache/script-engine: $(ENGINE)
	@.ci/need go node
	@echo "script engine: fetching and translating …"
	@cd internal/devtool/scriptengine && npm ci --no-audit --no-fund --loglevel=error
	@go run -buildvcs=false ./internal/devtool/scriptengine
	@mkdir -p .cache && touch $@

test: ## everything CI runs: lint, vulnerabilities, all tests with the race detector on both databases
	@.ci/need go gcc postgresql curl node chromium
	@$(MAKE) --no-print-directory lint vulncheck tools script-engine
	@echo "test: all packages with the race detector"
	@$(TOOLS)/pgserver -- env CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 \
		$(TOOLS)/gotest $(VERBOSE) $(RACE) -tags script -shuffle=on -timeout=20m $(PKG)
	@$(if $(filter ./...,$(PKG)),$(MAKE) --no-print-directory test-console)

test-console: build .cache/console-checked ## the page: types, unit tests, and the real server in Chromium
	@.ci/need chromium
	@echo "test: the page in Chromium"
	@go vet -buildvcs=false -tags console ./console
	@mkdir -p $(TOOLS)
	@go build -buildvcs=false -o $(TOOLS)/ ./internal/model/scripted/scriptedmodel ./internal/server/servertest/delegate
	@cd console && npm run --silent test:browser

# The quick checks of the page, when something of it has changed.
.cache/console-checked: .cache/console-packages $(CONSOLE) $(CONSOLE_TESTS) internal/transport/rest/testdata/openapi.json
	@echo "console: types and unit tests"
	@cd console && npm run --silent types && npm run --silent test
	@touch $@

check: ## the everyday loop: vet, staticcheck and the quick tests, without the race detector and cached
	@.ci/need go postgresql curl node
	@$(MAKE) --no-print-directory format-check script-engine vet staticcheck tools .cache/console-checked
	@$(TOOLS)/gotest -tags script -short -timeout=5m $(PKG)

lint: format-check script-engine vet staticcheck tidy-check ## formatting, vet, staticcheck, go.mod

format-check:
	@unformatted=$$(gofmt -l .) && \
		if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt: $$unformatted" >&2; exit 1; fi

vet:
	go vet -buildvcs=false $(PKG)
	go vet -buildvcs=false -tags script ./internal/script ./internal/script/quickjs

staticcheck:
	$(STATICCHECK) $(PKG)
	$(STATICCHECK) -tags script ./internal/script ./internal/script/quickjs

tidy-check:
	@go mod tidy -diff && (cd tools && go mod tidy -diff) || { echo "go.mod says more or less than the code uses: run go mod tidy, in tools/ too" >&2; exit 1; }

vulncheck: ## look for known vulnerabilities that the code reaches
	go run -buildvcs=false ./internal/devtool/vulncheck

vulndb: ## move the vulnerability database to its newest revision
	go list -m golang.org/x/vulndb@latest | cut -d' ' -f2 > tools/vulndb.version
	@cat tools/vulndb.version

crash: tools script-engine ## kill the real process at every named point and ROUNDS random moments, and check what is left
	@.ci/need go postgresql
	@LOAM_CRASH_ROUNDS=$(ROUNDS) $(TOOLS)/gotest -v -timeout=120m ./internal/crashtest/...

bench: script-engine ## measure a real server and write the numbers into docs/benchmarks.md
	@mkdir -p $(TOOLS)
	@go build -buildvcs=false -o $(TOOLS)/benchmark ./internal/benchmark
	@$(TOOLS)/benchmark -write docs/benchmarks.md

bench-console: build ## measure the page in Chromium and write the numbers into docs/benchmarks.md
	@.ci/need chromium
	@mkdir -p $(TOOLS)
	@go build -buildvcs=false -o $(TOOLS)/scriptedmodel ./internal/model/scripted/scriptedmodel
	@cd console && npm run --silent bench

shots: build ## take the pictures of the README again
	@.ci/need chromium
	@mkdir -p $(TOOLS)
	@go build -buildvcs=false -o $(TOOLS)/scriptedmodel ./internal/model/scripted/scriptedmodel
	@cd console && npm run --silent shots

microbench: ## run the Go benchmarks of the packages (PKG=… narrows)
	go test -buildvcs=false -run '^$$' -bench . -benchmem $(PKG)

fuzz: ## run every fuzz target for FUZZTIME
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(go test -list '^Fuzz' $$dir | grep '^Fuzz'); do \
			echo "fuzz: $$target in $$dir"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir || exit 1; \
		done; \
	done

fmt: ## format the Go code
	gofmt -w .

licences: console/dist/index.html .cache/script-engine ## write THIRD_PARTY_LICENCES.txt into dist/
	@mkdir -p dist
	go run -buildvcs=false ./internal/devtool/licences -o dist/THIRD_PARTY_LICENCES.txt -lists console/dist/licences.json,internal/script/quickjs/translated/licences.json ./cmd/loam

release: console/dist/index.html .cache/script-engine ## build the release archives and checksums into dist/
	@.ci/need go git
	go run -buildvcs=false ./internal/devtool/release -version "$(VERSION)" -commit "$(COMMIT)" -branch "$(BRANCH)" -date "$(DATE)" -lists console/dist/licences.json,internal/script/quickjs/translated/licences.json -out dist

clean: ## remove what was built (never data)
	rm -rf bin dist .cache console/dist console/node_modules internal/devtool/scriptengine/node_modules internal/script/quickjs/translated

tools:
	@mkdir -p $(TOOLS)
	@go build -buildvcs=false -o $(TOOLS)/ ./internal/devtool/gotest ./internal/pgtest/pgserver
