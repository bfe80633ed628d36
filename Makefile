.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# What npm itself writes when it has installed the lock file.
installed := node_modules/.package-lock.json

$(installed): package.json package-lock.json
	npm ci
	@touch $@

judges_installed := test/judges/node_modules/.package-lock.json

$(judges_installed): test/judges/package.json test/judges/package-lock.json
	cd test/judges && npm ci
	@touch $@

client_installed := clients/typescript/node_modules/.package-lock.json

$(client_installed): clients/typescript/package.json clients/typescript/package-lock.json
	cd clients/typescript && npm ci
	@touch $@

bench_installed := test/bench/node_modules/.package-lock.json

$(bench_installed): test/bench/package.json test/bench/package-lock.json
	cd test/bench && npm ci
	@touch $@

mutants_installed := test/mutants/node_modules/.package-lock.json

$(mutants_installed): test/mutants/package.json test/mutants/package-lock.json
	cd test/mutants && npm ci
	@touch $@

generated/docs.html: generated/openapi.json redocly.yaml scripts/docs-page.ts $(installed)
	@npm run --silent docs > $@.log 2>&1 || { cat $@.log; exit 1; }
	@rm $@.log

.PHONY: install
install: $(installed) ## install what the lock file names

.PHONY: run
run: $(installed) generated/docs.html ## set up and serve a demo catalogue on http://localhost:3000; ENGINE=postgres on a throw-away PostgreSQL
	@$(if $(filter postgres,$(ENGINE)),exec node scripts/on-postgres.ts) sh -c \
	  'node src/apps-service.js migrate && node src/apps-service.js seed && exec node src/apps-service.js serve'

.PHONY: generate
generate: $(installed) ## make generated/ from openapi/
	npm run --silent generate

.PHONY: lint
lint: $(installed) ## lint the code (Biome) and the document (Redocly)
	npm run --silent lint

.PHONY: test
test: $(installed) ## all tests: lint, types, drift of generated/, behaviour; ENGINE=sqlite or postgres on that alone
	npm run --silent lint
	npm run --silent types
	npm run --silent drift
	npm run --silent test -- $(if $(ENGINE),--project once --project $(ENGINE) --project last)

.PHONY: judge
judge: $(installed) $(judges_installed) $(client_installed) $(bench_installed) generated/docs.html ## hold the contract against foreign clients and tools
	npm run --silent judge

.PHONY: diff
diff: $(installed) $(judges_installed) ## what has changed in the document since the last release, and the version that asks for
	@node test/judges/diff.ts

.PHONY: faults
faults: $(installed) ## kill, cut, fill, replace and attack the service for 15 minutes; SOAK=1 for ten more, CUT=1 for a short run
	@SOAK=$(SOAK) CUT=$(CUT) npm run --silent faults

.PHONY: bench
bench: $(installed) $(bench_installed) ## measure the service beside its peers, into docs/performance.md; QUICK=1 for a look
	@npm run --silent bench -- $(if $(QUICK),quick,full)

.PHONY: mutants
mutants: $(installed) $(mutants_installed) ## put mistakes into ROOM=src/catalogue, one at a time, and list those that no test sees; TESTS=test/catalogue tries these alone
	@ROOM=$(ROOM) TESTS=$(TESTS) test/mutants/node_modules/.bin/stryker run test/mutants/stryker.config.js

.PHONY: help
help: ## show this
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18
