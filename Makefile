# `make run` tries Recast out; `make test` shows that it works. The other targets are for working on it.
.DEFAULT_GOAL := help
.PHONY: help run build image image-test install uninstall deb package-test release-check test test-release nightly faults soak proxies kubernetes-test browser screenshots sanitize guard linear bench bench-codecs bench-pictures fuzz lint format clean

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 17

run: build ## Build, start an echo upstream and Recast, print requests to try: make run CONFIG=config/php.yaml
	scripts/run $(CONFIG)

build: ## Build the release binary
	scripts/dependencies build
	scripts/release --product recast

image: ## Build the image and say what is in it: make image ARGS=--here (docs/image.md)
	scripts/image $(ARGS)

image-test: ## Build the image over Debian's own packages and run it, read-only and without rights; as root
	scripts/image-test $(ARGS)

install: ## Put what `make build` built, its man pages, completions, unit and settings in place: PREFIX=/usr/local DESTDIR=
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install

uninstall: ## Take away what `make install` put in place, with the same PREFIX and DESTDIR; changed settings stay
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install --uninstall

deb: ## Build the Debian package: docs/packages.md
	scripts/dependencies build package
	scripts/deb

package-test: ## Install, upgrade and remove the Debian package in a clean Debian, under systemd: root, network, minutes
	scripts/dependencies build package
	scripts/package-test

release-check: ## Say what keeps this commit from being a release: docs/releasing.md
	scripts/release-check

test: ## Unit tests, then the end-to-end suite with real clients
	scripts/test

test-release: ## The end-to-end suite on a release build, whose speed finds what a debug build is too slow for
	scripts/dependencies build test
	scripts/release --product recast
	RECAST_BIN=$$(scripts/release --show-bin-path)/recast scripts/e2e $(ARGS)

nightly: ## Everything, for hours: make nightly FUZZ=1800 SOAK=600 (seconds), STEPS="faults fuzz" for some
	scripts/nightly $(if $(FUZZ),--fuzz $(FUZZ)) $(if $(SOAK),--soak $(SOAK)) $(STEPS)

faults: ## Inject the faults of docs/faults.md for real: make faults ROWS=14-38 MODE=tls
	scripts/dependencies build test faults
	swift build --product recast
	scripts/faults $(if $(ROWS),--rows $(ROWS)) $(if $(MODE),--mode $(MODE))

soak: ## All kinds of requests with faults and reloads under load: make soak TIME=60 (seconds in all), SEED=2
	scripts/dependencies build test faults
	swift build --product recast
	scripts/faults --soak $(or $(TIME),60) $(if $(SEED),--seed $(SEED))

proxies: ## Recast behind Envoy and as its ext_proc, with two versions of it; behind nginx is in `make test`
	scripts/dependencies build test proxies
	swift build --product recast
	scripts/proxies

kubernetes-test: ## Check deploy/kubernetes, and play the life of its pods in network namespaces; as root
	scripts/dependencies build kubernetes
	swift build --product recast
	scripts/kubernetes-test

browser: ## The console's page in Chromium: each view, the keyboard, contrast, hostile texts; make browser ARGS='-k replay'
	scripts/dependencies build browser
	swift build --product recast
	scripts/browser $(ARGS)

screenshots: ## Make the pictures of docs/pictures anew, of the console's page
	scripts/dependencies build browser
	swift build --product recast
	scripts/screenshots

sanitize: ## The suites on builds with the address and the thread sanitizer
	scripts/sanitize address
	scripts/sanitize thread

guard: ## Instructions, system calls and allocations per request, within the limits in git: make guard ARGS=--profile
	scripts/dependencies build guard
	scripts/guard $(ARGS)

linear: ## Instructions of conversions at n and 4 n names, of routes and elements too, which must be four times as many
	scripts/dependencies build guard
	scripts/linear $(ARGS)

bench: ## Measure against nginx, HAProxy, Envoy and Caddy: docs/benchmarks.md; make bench ARGS=--quick
	scripts/dependencies build bench
	scripts/bench $(ARGS)

bench-codecs: ## Measure the codecs against Go's mime/multipart and Python's orjson
	scripts/dependencies build bench
	scripts/bench-codecs $(ARGS)

bench-pictures: ## Measure pictures that are made smaller against vipsthumbnail
	scripts/dependencies build bench
	scripts/bench-pictures $(ARGS)

fuzz: ## Fuzz every decoder, conversion, pictures and HTTP itself: make fuzz TIME=60 (seconds in all), TARGET='http-*' for some
	scripts/fuzz --time $(or $(TIME),60) $(if $(TARGET),--target '$(TARGET)')

lint: ## Check format, layout, imports, scripts and the Dockerfile
	scripts/lint

format: ## Rewrite the Swift sources in the project's format
	swift format --in-place --parallel --recursive Sources Tests Examples Benchmarks Package.swift

clean: ## Remove what was built and measured
	rm -rf .build .build_fuzz .build_lint .build_bench .build_test .build_address .build_thread .build_ci .build_nightly .build_image .build_package .build_kubernetes .build_proxies bench/out
