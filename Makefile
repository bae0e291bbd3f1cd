# Strata. `make help` lists the targets; every recipe prints what it runs.
#
# Needed: Go, make and git, nothing else. Tools are built from the versions that
# tools/go.mod pins, the local Kubernetes from those of tools/kubernetes/go.mod.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

GO ?= go

# One set of flags for building, testing and generating, so that they share the
# build cache. -trimpath: a binary does not depend on where it was built. Without
# cgo no C compiler is needed.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false $(filter-out -trimpath -buildvcs=%,$(GOFLAGS))

# Where the local Kubernetes is built, once for each version.
export STRATA_KUBERNETES_DIR ?= $(CURDIR)/.cache/kubernetes

# The build: from git, or from hack/version.txt, which `git archive` fills in.
# The date is the commit's, so that the same commit gives the same binary.
ifneq ($(wildcard .git),)
VERSION := $(shell v=$$(git describe --tags --match 'v*' --always --dirty 2>/dev/null); case $$v in (v*) echo $$v;; (?*) echo v0.0.0-g$$v;; esac)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
DATE := $(shell git log -1 --format=%cI 2>/dev/null)
else
VERSION := $(shell sed -n '1{/^v/p;}' hack/version.txt)
COMMIT := $(shell sed -n '2{/^[0-9a-f]/p;}' hack/version.txt)
DATE := $(shell sed -n '3{/^[0-9]/p;}' hack/version.txt)
endif
STAMP := github.com/strata-run/strata/internal/version
LDFLAGS := -s -w \
	$(if $(VERSION),-X $(STAMP).version=$(VERSION)) \
	$(if $(COMMIT),-X $(STAMP).commit=$(COMMIT)) \
	$(if $(DATE),-X $(STAMP).date=$(DATE))

# The folders that hold our Go files.
SOURCES := $(wildcard api cmd config internal revisions test)

# The modules of our library, and a program that uses it. Each has requirements of its own.
LIBRARY := revisions revisions/probes/celprobe test/consumer

# The fronts, each of which has a role of its own.
FRONTS := $(patsubst internal/front/%/registration.go,%,$(wildcard internal/front/*/registration.go))

# Everything that `make generate` writes, and nothing else.
GENERATED := ARCHITECTURE.md api config/crd config/rbac docs/reference internal/localplane/module

##@ Build

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build strata (also as kubectl-strata) and strata-manager into bin/
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/strata ./cmd/strata
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/strata-manager ./cmd/manager
	ln -sf strata bin/kubectl-strata

.PHONY: generate
generate: bin/controller-gen ## Renew deep copies, CRDs, RBAC, embedded module files, the reference and the picture of the packages
	bin/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	bin/controller-gen crd paths=./api/v1alpha1 output:crd:dir=config/crd
	bin/controller-gen crd paths=./api/olm.operatorframework.io/... output:crd:dir=config/crd/clusterextension
	bin/controller-gen crd paths=./api/operator.kyma-project.io/... output:crd:dir=config/crd/kyma
	bin/controller-gen crd paths=./api/operator.openshift.io/... output:crd:dir=config/crd/istiocsr
	bin/controller-gen rbac:roleName=strata-manager paths=./internal/controller output:rbac:dir=config/rbac
	for front in $(FRONTS); do bin/controller-gen rbac:roleName=strata-manager-$$front paths=./internal/front/$$front output:rbac:dir=config/rbac/$$front || exit; done
	$(GO) generate ./internal/localplane/...
	$(GO) build -o bin/docsgen ./internal/docsgen
	env -u KUBECACHEDIR HOME='~' bin/docsgen generate

.PHONY: clean
clean: ## Remove bin/; the local Kubernetes stays in .cache/
	rm -rf bin

##@ Try it

DEMO := $(CURDIR)/.local/demo
ANNOTATION := unsupported.do-not-use.openshift.io
CLASS := NAME:.metadata.name,INSTALLED:.status.conditions[?(@.type=="ControllerInstalled")].status,MESSAGE:.status.conditions[?(@.type=="ControllerInstalled")].message
# status -w ends with 4 when nothing moves for --hold-timeout, which is what the
# demo's bad revision has to do.
HELD := || test $$? -eq 4

.PHONY: demo
demo: export KUBECONFIG := $(DEMO)/kubeconfig
demo: build ## Install, upgrade, break and roll back istiod on a local Kubernetes
	bin/strata down --dir $(DEMO)
	bin/strata up --dir $(DEMO) --istio-version 1.29
	$(DEMO)/kubectl apply -f config/samples/namespace.yaml -f config/samples/gatewayclass.yaml
	@# 1. Istio 1.29 is rolled out phase by phase.
	bin/strata status istiod-openshift-gateway --watch --revision 1 --timeout 3m
	bin/strata tree istiod-openshift-gateway
	$(DEMO)/kubectl get gatewayclass -o 'custom-columns=$(CLASS)'
	@# 2. Istio 1.31 is rolled out over it; the tree tells what was written and what was not.
	$(DEMO)/kubectl annotate gatewayclass openshift-default $(ANNOTATION)/istio-version=1.31
	bin/strata status istiod-openshift-gateway --watch --revision 2 --timeout 3m
	bin/strata tree istiod-openshift-gateway
	@# 3. An image that cannot be pulled: the phase gate holds, revision 2 serves.
	$(DEMO)/kubectl annotate gatewayclass openshift-default $(ANNOTATION)/istiod-image=registry.invalid/istio/pilot:broken
	bin/strata status istiod-openshift-gateway --watch --revision 3 --timeout 3m --hold-timeout 8s $(HELD)
	bin/strata tree istiod-openshift-gateway
	bin/strata get
	@# 4. Back to what worked. The front does not make the rejected content again.
	bin/strata rollback istiod-openshift-gateway --to 2 --reason 'the image cannot be pulled' --yes --wait
	bin/strata history istiod-openshift-gateway
	$(DEMO)/kubectl get packages,revisions
	bin/strata up --dir $(DEMO)

EXTENSION := docs/guides/clusterextension
PATCH_EXTENSION := $(DEMO)/kubectl patch clusterextension greeter --type merge --patch

.PHONY: demo-extension
demo-extension: build ## Install, upgrade, break, roll back and uninstall an extension from a catalog on a local Kubernetes
	$(GO) build -o bin/registry ./test/registry
	@# The registry ends with the command behind it.
	bin/registry $(EXTENSION) $(MAKE) --no-print-directory demo-extension-steps

.PHONY: demo-extension-steps
demo-extension-steps: export KUBECONFIG := $(DEMO)/kubeconfig
demo-extension-steps:
	bin/strata down --dir $(DEMO)
	bin/strata up --dir $(DEMO) --clusterextensions on --registries-conf $(EXTENSION)/registries.conf
	$(DEMO)/kubectl create namespace greeter
	$(DEMO)/kubectl apply -f $(EXTENSION)/catalog.yaml -f $(EXTENSION)/extension.yaml
	@# 1. The bundle of version 1.0.0 is pulled, rendered and rolled out phase by phase.
	bin/strata status greeter --watch --revision 1 --timeout 3m
	$(DEMO)/kubectl get clustercatalog,clusterextension
	bin/strata tree greeter
	@# 2. Version 1.1.0 follows in the channel.
	$(PATCH_EXTENSION) '{"spec": {"source": {"catalog": {"version": "1.x"}}}}'
	bin/strata status greeter --watch --revision 2 --timeout 3m
	$(DEMO)/kubectl get clusterextension
	@# 3. Version 1.2.0 has an image that cannot be pulled: its probe fails, version 1.1.0 serves.
	$(PATCH_EXTENSION) '{"spec": {"source": {"catalog": {"channels": ["candidate"]}}}}'
	bin/strata status greeter --watch --revision 3 --timeout 3m --hold-timeout 8s $(HELD)
	$(DEMO)/kubectl get clusterextension --output wide
	bin/strata explain greeter --registries-conf $(EXTENSION)/registries.conf
	@# 4. Back to what worked. The front does not make the rejected content again.
	bin/strata rollback greeter --to 2 --reason 'the image cannot be pulled' --yes --wait
	bin/strata history greeter
	$(DEMO)/kubectl get clusterextension --output wide
	@# 5. Uninstalled while a user has a Greeting: its definition stays.
	$(DEMO)/kubectl apply -f $(EXTENSION)/greeting.yaml
	$(DEMO)/kubectl delete clusterextension greeter
	$(DEMO)/kubectl get events --field-selector reason=Retained
	$(DEMO)/kubectl get customresourcedefinition greetings.demo.example.com
	$(DEMO)/kubectl get greetings
	$(DEMO)/kubectl get all --namespace greeter
	bin/strata up --dir $(DEMO)

.PHONY: demo-down
demo-down: build ## Stop what a demo has left running, and remove its data
	bin/strata down --dir $(DEMO)

##@ Check

# These take minutes, mostly to wait for a local Kubernetes: they begin first, and side by
# side, also on two processors. test/README.md says what takes how long.
LONGEST := ./test/integration ./test/kyma ./test/certmanager ./test/uninstall ./test/clusterextension

.PHONY: test
test: bin/helm ## Run the unit tests, and the integration tests against the local Kubernetes
	$(GO) -C test/helm3 test ./...
	for module in $(LIBRARY); do $(GO) -C $$module test ./... || exit; done
	$(GO) test -p 4 -parallel 4 -timeout 30m $(LONGEST) $$($(GO) list ./... | grep -v '/test/istiod$$')

.PHONY: times
times: LOG ?= test.log
times: ## Print which tests have taken longest, and their sum by folder, of LOG, what `go test -v` has printed
	@awk '/^--- (PASS|FAIL): / { gsub(/[()s]$$|[(]/, "", $$4); printf "%8.1f %s\n", $$4, $$3 }' $(LOG) | sort -rn | head -40
	@awk '$$1 == "ok" || $$1 == "FAIL" && NF > 2 { printf "%8.1f %s\n", $$3, $$2 }' $(LOG) | sort -rn | head -12

# The tests build the local Kubernetes when it is missing, but silently. In a fresh
# clone it is built before them, with its progress shown; no test runs.
ifeq ($(wildcard $(STRATA_KUBERNETES_DIR)/*/kubectl),)
test: kubernetes
endif

.PHONY: kubernetes
kubernetes:
	$(GO) test -count=1 -timeout 30m -v -run '^$$' ./internal/localplane

# istiod is built once and takes some minutes; then the tests take three.
.PHONY: test-istiod
test-istiod: bin/pilot-discovery bin/istio-install ## Run the tests beside a real istiod and Istio's installer, built before
	$(GO) test -timeout 15m -count=1 ./test/istiod
	STRATA_ISTIO_INSTALL=$(CURDIR)/bin/istio-install $(GO) test -timeout 15m -count=1 -run '^TestInstaller$$' ./test/kyma

# catalogd is built once, too.
.PHONY: test-catalogd
test-catalogd: bin/catalogd ## Run the test beside the real catalogd, built before; it needs the right to mount
	$(GO) test -timeout 15m -count=1 -run '^TestCatalogd$$' ./test/clusterextension

# `make test` runs these as well. The first run builds cert-manager, which takes some
# minutes; then the tests take seconds.
.PHONY: test-certmanager
test-certmanager: ## Run the tests with a real cert-manager
	$(GO) test -timeout 15m -count=1 ./test/certmanager

.PHONY: race
race: ## Run the unit tests under the race detector; it needs a C compiler
	CGO_ENABLED=1 $(GO) test -race ./api/... ./internal/...
	for module in $(LIBRARY); do CGO_ENABLED=1 $(GO) -C $$module test -race ./... || exit; done

# How many packages the large part of the bench has. Memory is judged with the
# default only; 0 leaves the part out, which then takes three minutes instead of
# fifteen.
BENCH_PACKAGES ?= 1000

.PHONY: bench
bench: build bin/helm ## Run the benchmarks, and hold the manager's requests and memory to test/bench/budget.yaml
	$(GO) test -run '^$$' -bench . -benchmem $(addprefix ./,$(sort $(dir $(shell grep -rl --include=*_test.go '^func Benchmark' $(filter-out revisions,$(SOURCES))))))
	for module in $(LIBRARY); do $(GO) -C $$module test -run '^$$' -bench . -benchmem ./... || exit; done
	$(GO) test -timeout 30m -count=1 -v -run '^TestRestarts$$' ./test/kyma -workloads 50
	$(GO) build -o bin/bench ./test/bench
	bin/bench -packages $(BENCH_PACKAGES)

.PHONY: lint
lint: bin/golangci-lint ## Check the format, vet, and run the linters of .golangci.yaml
	@# Not by way of tee /dev/stderr, which empties the file that stderr may be.
	unformatted=$$(gofmt -s -l $(SOURCES)) && test -z "$$unformatted" || { echo "not formatted, run gofmt -s -w on: $$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	bin/golangci-lint run ./...
	for module in $(LIBRARY); do $(GO) -C $$module vet ./... || exit; done
	@# The program of the guide is written as readers would, not by our rules.
	for module in $(filter-out test/%,$(LIBRARY)); do (cd $$module && $(CURDIR)/bin/golangci-lint run ./...) || exit; done
	@$(MAKE) --no-print-directory lines

.PHONY: changelog
changelog: ## Move what changes/ holds into CHANGELOG.md, before a release
	hack/changelog.sh

.PHONY: lines
lines: ## Print how many lines of Go each front has, without tests, beside those of hack/front-lines.txt
	@while read -r front before; do \
		now=$$(find internal/front/$$front -name '*.go' ! -name '*_test.go' ! -path '*/trusttest/*' -exec cat {} + | wc -l); \
		printf '%-14s %6d lines, %6d before\n' $$front $$now $$before; \
	done < hack/front-lines.txt

.PHONY: verify
verify: generate ## Fail when something generated is stale, go.mod is untidy or a link is dead
	git diff --exit-code -- $(GENERATED)
	new=$$(git ls-files --others --exclude-standard -- $(GENERATED)) && test -z "$$new" || { echo "generated and not committed: $$new" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(GO) -C tools/kubernetes mod tidy -diff
	$(GO) -C tools/istiod mod tidy -diff
	$(GO) -C tools/catalogd mod tidy -diff
	$(GO) -C tools/certmanager mod tidy -diff
	$(GO) -C test/helm3 mod tidy -diff
	for module in $(LIBRARY); do $(GO) -C $$module mod tidy -diff || exit; done
	bin/docsgen links

.PHONY: presubmit
presubmit: lint verify test test-istiod test-catalogd race ## The whole gate, to run before a change is sent

# Tools, each built anew when the pinned versions change.

bin/controller-gen: tools/go.mod tools/go.sum
	$(GO) -C tools build -o ../$@ sigs.k8s.io/controller-tools/cmd/controller-gen

bin/golangci-lint: tools/go.mod tools/go.sum
	$(GO) -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The real istiod, for tests: 1,700 packages, built behind whatever else runs here.
bin/pilot-discovery: tools/istiod/go.mod tools/istiod/go.sum
	nice $(GO) -C tools/istiod build -ldflags '-s -w' -o ../../$@ istio.io/istio/pilot/cmd/pilot-discovery

# The real catalogd, for tests. The tag is for what verifies signatures, which would need cgo.
bin/catalogd: tools/catalogd/go.mod tools/catalogd/go.sum
	nice $(GO) -C tools/catalogd build -tags containers_image_openpgp -ldflags '-s -w' -o ../../$@ github.com/operator-framework/operator-controller/cmd/catalogd

# Istio's own installer, for tests: most of its packages are those of istiod.
bin/istio-install: tools/istiod/go.mod tools/istiod/go.sum tools/istiod/install/main.go
	nice $(GO) -C tools/istiod build -ldflags '-s -w' -o ../../$@ ./install

# A peer that the bench compares with. It is a module of its own, so that its
# libraries are not those of other modules.
bin/helm: test/bench/helm/go.mod test/bench/helm/go.sum
	$(GO) -C test/bench/helm build -o ../../../$@ helm.sh/helm/v4/cmd/helm
