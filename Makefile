.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# Tests run make themselves, without the job server of make --jobs.
unexport MAKEFLAGS

# Repeat an installation that failed.
.DELETE_ON_ERROR:

# A copy of the lock file that is installed. If git only touches the file, as in a rebase, nothing is installed again.
installed := node_modules/.installed

$(installed): package-lock.json scripts/install.sh
	@cmp -s $< $@ || sh scripts/install.sh
	@cp $< $@

judges_installed := test/judges/node_modules/.installed
lab_installed := test/lab/node_modules/.installed

$(judges_installed) $(lab_installed): test/%/node_modules/.installed: test/%/package-lock.json
	@cmp -s $< $@ || (cd test/$* && npm ci)
	@cp $< $@

generated/docs.html: generated/openapi.json redocly.yaml scripts/docs-page.hbs scripts/docs-page.ts $(installed)
	@npm run --silent docs > $@.log 2>&1 || { cat $@.log; exit 1; }
	@rm $@.log

.PHONY: install
install: $(installed) $(if $(PRODUCTION),generated/docs.html) ## install the dependencies; PRODUCTION=1 builds the page at /docs, then keeps only what serving needs
	@$(if $(PRODUCTION),npm prune --omit=dev && rm -f $(installed))

# Sets up a demo catalogue, then runs a command with it.
with_demo = $(if $(filter postgres,$(ENGINE)),exec node scripts/on-postgres.ts) sh -c \
  './apps-service migrate && ./apps-service seed && exec $(1)'

.PHONY: run
run: $(installed) generated/docs.html ## set up and serve a demo catalogue on http://localhost:3000; ENGINE=postgres uses a temporary PostgreSQL
	@$(call with_demo,./apps-service serve)

.PHONY: dev
dev: export LOG_LEVEL ?= debug
dev: $(installed) generated/docs.html ## like run, but restarts when src/ or generated/ changes, and logs each SQL statement
	@$(call with_demo,node scripts/dev.ts)

.PHONY: shop
shop: $(installed) ## serve the example shop window on http://localhost:8080, with the catalogue of make run; PORT is that of make run, API_URL=URL uses another one
	@node scripts/shop.ts

.PHONY: generate
generate: $(installed) ## generate generated/ from openapi/
	npm run --silent generate

.PHONY: lint
lint: $(installed) ## lint the code (Biome), the document (Redocly) and the patterns of both (recheck)
	npm run --silent lint

.PHONY: types
types: $(installed) ## check the types
	tsc

.PHONY: check
check: types ## check the code's style and types, in seconds; make test checks all
	biome ci --error-on-warnings

.PHONY: test
test: lint types ## lint and types, then the tests; ENGINE=sqlite or postgres for one engine
	npm run --silent test -- $(if $(ENGINE),--project '!$(filter-out $(ENGINE),sqlite postgres)')

.PHONY: package
package: $(installed) ## pack the last commit with Node and its dependencies into dist/, as an archive that runs without npm
	@node scripts/package.ts

.PHONY: judge-packages
judge-packages: $(judges_installed)

.PHONY: judge
judge: $(installed) judge-packages generated/docs.html ## check the contract and the server with third-party tools
	tsc -p test/judges && vitest run --config test/judges/vitest.config.ts

.PHONY: pictures
pictures: $(installed) $(judges_installed) generated/docs.html ## take the pictures of README.md and docs/ again
	@node test/judges/pictures.ts

.PHONY: diff
diff: $(installed) $(judges_installed) ## list changes of the document since the last release, and the version they require
	@node test/judges/diff.ts

.PHONY: faults
faults: $(installed) ## kill the server, fuzz its connections and hang its network, for a minute
	@CUT=1 vitest run --config test/faults/vitest.config.ts

.PHONY: bench
bench: $(installed) $(lab_installed) ## benchmark against peers, half an hour; QUICK=1 for three minutes
	@node test/lab/bench/main.ts $(if $(QUICK),quick,full)

.PHONY: lab
lab: $(installed) $(lab_installed) $(if $(filter mutants,$(PART)),,package) ## what belongs to a release, an hour; PART=archive, bench, faults, listings, mutants or one-server for one part
	@$(if $(filter mutants,$(PART)),,tsc -p test/lab && vitest run --config test/lab/vitest.config.ts $(PART))
	@$(if $(filter-out mutants,$(PART)),,node test/lab/mutants/patches.ts)

.PHONY: help
help: ## show this help
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18
