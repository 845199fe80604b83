# Everything goes through the go command; see CONTRIBUTING.md.

COMMIT := $(shell git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null)
STAMP := $(if $(COMMIT),-X github.com/wirespeed/wirespeed/internal/cli.commit=$(COMMIT))

.PHONY: build test check generate bench install-deps

# One static binary in ./wirespeed.
build:
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w $(STAMP)" -o wirespeed ./cmd/wirespeed

# Installs what the tests need where it is missing, then runs every check and test.
test: install-deps
	go run ./internal/check

# What can be said in a minute and without root: format, vet, staticcheck, tests of the packages that need no root.
check:
	go run ./internal/check -quick

# Compiles the eBPF sources; the result is committed.
generate:
	go generate ./...

# Measures every engine against the tools found on PATH and writes the tables into docs/performance.md. Root; 15 minutes.
bench:
	@./.ci/install-deps bench
	go run ./bench -write docs/performance.md

install-deps:
	@./.ci/install-deps
