# Every target sets up what it needs: a machine with Python 3.11, git and make is enough.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export COTERIE_DATA ?= $(realpath ../shared/data/raw)

.DEFAULT_GOAL := help
.PHONY: help install demo test lint types layers check bench-encode bench-train bench-kmeans bench-neighbours bench-sccl bench-aecl bench-rstc bench-deccrl bench-clusterbert bench-tcc bench-images bench-steps bench-denoise bench-stages bench-augment bench-views bench-scale bench-study format clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 18

install: $(READY) ## make .venv with the pinned, tested set of packages

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY) ## train on the bundled help-desk messages, group them, judge the result, file a new message
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/coterie datasets helpdesk --out build/demo/tickets.csv
	$(BIN)/coterie cluster build/demo/tickets.csv -k 16 --method sccl --out build/demo/groups
	$(BIN)/coterie evaluate build/demo/groups/assignments.csv --truth label
	echo 'I was charged twice this month, where is my invoice?' | $(BIN)/coterie assign build/demo/groups/model -

check: lint types layers ## everything but the tests

test: check ## what CI runs: lint, types, layers and all tests
	$(BIN)/python -m pytest

lint: $(READY) ## style and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

types: $(READY) ## mypy, strict
	$(BIN)/mypy

layers: $(READY) ## imports point downwards
	$(BIN)/lint-imports

bench-encode: $(READY) ## texts per second of the bundled encoder against sentence-transformers
	$(BIN)/python benchmarks/encode.py

bench-train: $(READY) ## a training step against the plain step of the papers' code, and what a fit costs
	$(BIN)/python benchmarks/train.py

bench-kmeans: $(READY) ## k-means on the bundled encoder over the papers' sets
	$(BIN)/coterie bench run -m kmeans -s helpdesk,papers -n 5 --preset paper -o benchmarks/results/kmeans.jsonl
	$(BIN)/coterie bench table benchmarks/results/kmeans.jsonl --metrics acc,nmi_geometric,confidence,ece

bench-neighbours: $(READY) ## neighbours beside k-means over the papers' sets; what was run is kept
	$(BIN)/coterie bench run -m kmeans,neighbours -s helpdesk,papers -n 5 --preset cpu -o benchmarks/results/neighbours.jsonl
	$(BIN)/coterie bench table benchmarks/results/neighbours.jsonl

bench-sccl: $(READY) ## SCCL beside k-means on four sets, and how well its guard chose; what was run is kept
	$(BIN)/coterie bench run -m kmeans,sccl -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu

bench-aecl: $(READY) ## AECL beside k-means and SCCL on four sets; on Tweet its ablations, and how it files texts
	$(BIN)/coterie bench run -m kmeans,sccl,aecl -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,aecl -s tweet -n 3 --preset cpu
	for variant in no-ic no-entropy no-pg no-stage-2; do \
	  $(BIN)/coterie bench run -m aecl -s tweet --preset cpu --variant $$variant || exit; \
	done
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu
	$(BIN)/python benchmarks/filing.py

bench-rstc: $(READY) ## RSTC beside k-means on four sets; what was run is kept
	$(BIN)/coterie bench run -m kmeans,rstc -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,rstc -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench table --preset cpu

bench-deccrl: $(READY) ## DECCRL beside k-means and SCCL on three sets, its ablations, the topics of StackOverflow, what topics cost
	$(BIN)/coterie bench run -m kmeans,sccl,deccrl -s stackoverflow,biomedical --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,deccrl -s agnews -n 3 --preset cpu
	for variant in without-crl with-lsr; do \
	  $(BIN)/coterie bench run -m deccrl -s stackoverflow --preset cpu --variant $$variant || exit; \
	done
	$(BIN)/coterie bench run -m kmeans,deccrl -s tweet --preset cpu
	for topics in 1 10 15 20 25 30; do \
	  $(BIN)/coterie bench run -m deccrl -s tweet --preset cpu --set n_topics=$$topics || exit; \
	done
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/python benchmarks/topics.py --tags
	$(BIN)/python benchmarks/topics.py
	$(BIN)/python benchmarks/topics.py --fit 20000

bench-clusterbert: $(READY) ## TSDAE and ClusterBERT beside k-means and SCCL on four sets, without reconstruction on Tweet
	$(BIN)/coterie bench run -m kmeans,sccl,tsdae,clusterbert -s searchsnippets,stackoverflow,bbc-6000 --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,tsdae,clusterbert -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench run -m clusterbert -s tweet --preset cpu --variant no-reconstruction
	$(BIN)/coterie bench table --preset cpu --metrics acc,nmi
	$(BIN)/python benchmarks/stages.py --measured
	$(BIN)/coterie bench guard --preset cpu

bench-tcc: $(READY) ## TCC beside k-means and SCCL on three sets, and its ablations on Tweet; what was run is kept
	$(BIN)/coterie bench run -m kmeans,sccl,tcc -s agnews,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,tcc -s tweet -n 3 --preset cpu
	for variant in without-l1 without-l2 in-batch not-drawn by-cluster plain-instance prior-sample; do \
	  $(BIN)/coterie bench run -m tcc -s tweet --preset cpu --variant $$variant || exit; \
	done
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu

bench-images: $(READY) ## TCC on images beside k-means on pixels and on what images alone teach; what was run is kept
	$(BIN)/coterie bench run -m kmeans,neighbours,tcc -s digits,fashion-mnist-10000 --preset cpu
	$(BIN)/coterie bench run -m tcc -s digits,fashion-mnist-10000 --preset cpu --variant without-l1
	$(BIN)/python benchmarks/images.py digits fashion-mnist-10000

bench-denoise: $(READY) ## a step of ClusterBERT against the plain one and against SCCL's
	$(BIN)/python benchmarks/denoise.py

bench-stages: $(READY) ## ClusterBERT stage by stage on BBC: scores and a t-SNE (a figure)
	$(BIN)/python benchmarks/stages.py

bench-steps: $(READY) ## a training step of every method against SCCL's
	$(BIN)/python benchmarks/steps.py

bench-augment: $(READY) ## texts per second of the augmenters against the time of the encoder
	$(BIN)/python benchmarks/augment.py

bench-views: $(READY) ## do views keep their cluster, and how near are they to their texts (ten minutes; a figure)
	$(BIN)/python benchmarks/augment_views.py

bench-scale: $(READY) ## seconds and memory of neighbours from 10,000 to 1,000,000 texts; what was run is kept
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/scale.py --real

bench-study: $(READY) ## which part of neighbours gives what, and how much each setting matters; what was run is kept
	$(BIN)/python benchmarks/study.py parts
	$(BIN)/python benchmarks/study.py settings
	$(BIN)/python benchmarks/study.py filing

format: $(READY) ## fix what can be fixed by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove everything that was made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
