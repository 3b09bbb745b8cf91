# make run    the program, on the built-in sample (nothing else to do first)
# make test   every test, on a display of its own
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := assets/town.copc.laz
TESTS ?=

.PHONY: run test lint docs bench clean

run: $(VENV)/run.stamp
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ]; then \
	    $(BIN)/oniyanma $(SAMPLE); \
	else \
	    mkdir -p out && \
	    $(BIN)/oniyanma render $(SAMPLE) -o out/town.png --size 1600x1000 --edl && \
	    echo "There is no display here, so the sample was drawn to $(CURDIR)/out/town.png." && \
	    echo "To get the window, run 'make run' where a display is (or with DISPLAY set)."; \
	fi

test: $(VENV)/test.stamp
	$(BIN)/python -m tests.display $(BIN)/python -m pytest $(TESTS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	.ci/check-wheel

docs: $(VENV)/run.stamp
	$(BIN)/oniyanma commands --markdown > docs/commands.md

bench: $(VENV)/test.stamp
	for each in bench/[a-z]*.py; do \
	    [ "$$each" = bench/report.py ] || \
	        $(BIN)/python -m tests.display $(BIN)/python "$$each" || exit 1; done
	$(BIN)/python bench/report.py

clean:
	rm -rf $(VENV) .venv-wheel build dist out *.egg-info

$(VENV)/run.stamp: pyproject.toml .ci/apt-packages.txt
	.ci/system-packages .ci/apt-packages.txt
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[e57]'
	touch $@

$(VENV)/test.stamp: pyproject.toml .ci/apt-packages.txt .ci/apt-packages-test.txt
	.ci/system-packages .ci/apt-packages.txt .ci/apt-packages-test.txt
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(VENV)/run.stamp $@
