# Everything one does with a checkout. `make help` lists it.

PY := .venv/bin/python
PYTEST := $(PY) -m pytest -q
SERVE_ARGS ?=
CLUSTER_ARGS ?=
TEST_ARGS ?=
BENCH_ARGS ?=
DEMO_ARGS ?=
SOAK_ARGS ?=
CHAOS_ARGS ?=
FUZZ_ARGS ?=
COST_ARGS ?=
SIMULATE_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv serve cluster etcd-built setup check test static lint types layers tidy unit compat compat-reference spark demo bench soak chaos fuzz fuzz-cost simulate docs reference screenshots wheel clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-24s %s\n", $$1, $$2}'

venv:  ## make .venv with the project and its development tools
	@sh tools/setup/venv.sh

serve: venv  ## run a broker on 127.0.0.1:9092 (SERVE_ARGS="--data-dir DIR ...")
	@exec $(PY) -m tidegate serve $(SERVE_ARGS)

cluster: venv  ## run an etcd and three nodes on 127.0.0.1:9092-9094 (CLUSTER_ARGS="--nodes 5 ...")
	@exec $(PY) -m tidegate cluster run $(CLUSTER_ARGS)

etcd-built:  ## build a later etcd than Debian's, for a run of the tests on it; needs Go (ETCD_VERSION=3.6.16)
	@sh tools/setup/etcd_built.sh $(ETCD_VERSION)

setup: venv  ## install what the tests need: kcat, nc, Java, Maven, etcd, Node, the jars of Kafka and of what Spark needs
	@sh tools/setup/system.sh
	@sh tools/setup/promtool.sh
	@sh tools/setup/valgrind.sh
	@sh tools/setup/etcd.sh
	@sh tools/setup/node.sh
	@sh tools/setup/go_program.sh helm k6
	@sh tools/setup/console.sh
	@echo "== setup: Kafka's jars"
	@$(PY) -m tools.reference.install
	@$(PY) -m tools.reference.spark s3 delta iceberg

check: venv static  ## the quick part of `make test`, for every day: some minutes, needs no more than the venv
	@echo "== quick unit and property tests"
	@$(PYTEST) tests --ignore=tests/test_tidy.py -m "not slow" $(TEST_ARGS)
	@echo "== the quick checks passed; make test runs all"

test: setup static unit compat  ## every check; what CI runs
	@echo "== all checks passed"

static: venv  ## lint, types, layers and tidiness, beside each other
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types lint layers tidy

lint: venv  ## formatting and lint
	@echo "== ruff format"
	@$(PY) -m ruff format --check --quiet .
	@echo "== ruff check"
	@$(PY) -m ruff check --quiet .

types: venv  ## mypy, strict
	@echo "== mypy"
	@$(PY) -m mypy

layers: venv  ## the layers of the design, by import-linter
	@echo "== layers"
	@.venv/bin/lint-imports --no-cache

tidy: venv  ## the tidiness test
	@echo "== tidiness"
	@$(PYTEST) tests/test_tidy.py

unit: venv  ## unit and property tests (TEST_ARGS="-k name")
	@echo "== unit and property tests"
	@$(PY) -m tools.run_tests unit $(TEST_ARGS)

compat: setup  ## real clients against Tidegate
	@echo "== compatibility tests against Tidegate"
	@COMPAT_TARGET=tidegate $(PY) -m tools.run_tests compat $(TEST_ARGS)

compat-reference: setup  ## the same scenarios against Apache Kafka
	@echo "== compatibility tests against Apache Kafka"
	@COMPAT_TARGET=kafka $(PYTEST) compat_tests $(TEST_ARGS)

spark: setup  ## Spark and the pipelines against Tidegate, the slow scenarios too
	@echo "== Spark against Tidegate"
	@COMPAT_TARGET=tidegate SPARK_SLOW=1 $(PYTEST) compat_tests/spark $(TEST_ARGS)

demo: setup  ## a broker, filled; archive, audit, usage, timelines, dead-letters on it; reports in build/demo
	@$(PY) -m tools.demo build/demo $(DEMO_ARGS)

bench: setup  ## measure against Apache Kafka here, into docs/benchmarks.md; needs Go (BENCH_ARGS="--help")
	@$(PY) -m tools.bench $(BENCH_ARGS)

soak: venv  ## kill -9 a loaded broker again and again and check (SOAK_ARGS="--cycles N --workload staged")
	@$(PY) -m tools.soak $(SOAK_ARGS)

chaos: setup  ## faults on three loaded nodes and their etcd, and check; cuts need root (CHAOS_ARGS="--faults N --seed N")
	@$(PY) -m tools.chaos $(CHAOS_ARGS)

fuzz: venv  ## mutated frames through the decoders (FUZZ_ARGS="--iterations N --seed N")
	@$(PY) -m tools.fuzz.codec $(FUZZ_ARGS)

simulate: venv  ## a real node in a simulated world, from seeds (SIMULATE_ARGS="--seeds 5000 --first 1")
	@PYTHONPATH=. $(PY) -m tests.simulation.run $(SIMULATE_ARGS)

fuzz-cost: venv  ## search for requests that cost the broker much (COST_ARGS="--apis fetch --versions all")
	@$(PY) -m tools.fuzz.cost $(COST_ARGS)

docs: venv  ## build the pages of docs/ as a site, which needs no server, into build/site
	@$(PY) -m tools.build_site build/site

reference: venv  ## write the pages of docs/ that are made from the code; a test says when one is not current
	@for each in config cli rights kafka http grpc error; do $(PY) -m tools.generate_$${each}_docs || exit 1; done

screenshots: venv  ## make the pictures of the console that the documents show; needs Chromium
	@$(PY) -m tools.screenshots

wheel: venv  ## build the wheel into dist/
	@$(PY) -m build --wheel --no-isolation --outdir dist .

clean:  ## remove everything that was made here, the venv too
	@rm -rf .venv build dist .mypy_cache .ruff_cache .hypothesis .cache
	@find . -name __pycache__ -prune -exec rm -rf {} +
