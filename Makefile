# `make run` tries Recast out; `make test` shows that it works. The other targets are for working on it.
.DEFAULT_GOAL := help
.PHONY: help run build test bench bench-codecs fuzz lint format clean

# The Swift runtime is linked in, so that the binary needs two Debian libraries (docs/decisions/0005).
RELEASE = --configuration release --static-swift-stdlib --product recast

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

run: build ## Build, start an echo upstream and Recast on config/recast.yaml, print requests to try
	scripts/run

build: ## Build the release binary
	scripts/dependencies build
	swift build $(RELEASE)

test: ## Unit tests, then the end-to-end suite with real clients
	scripts/test

bench: ## Measure against nginx and HAProxy: scripts/bench --help
	scripts/dependencies build bench
	scripts/bench $(ARGS)

bench-codecs: ## Measure the codecs against Go's mime/multipart and Python's orjson
	scripts/dependencies build bench
	scripts/bench-codecs $(ARGS)

fuzz: ## Fuzz every decoder and conversion: make fuzz TIME=60 (seconds in all), TARGET=json for one
	scripts/fuzz --time $(or $(TIME),60) $(if $(TARGET),--target $(TARGET))

lint: ## Check format, layout, imports, scripts and the Dockerfile
	scripts/lint

format: ## Rewrite the Swift sources in the project's format
	swift format --in-place --parallel --recursive Sources Tests Examples Benchmarks Package.swift

clean: ## Remove what was built and measured
	rm -rf .build .build_fuzz .build_lint .build_bench bench/out
