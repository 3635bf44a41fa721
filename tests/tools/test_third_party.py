"""What coterie needs at run time: licenses, and the lock file with hashes."""

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from third_party import is_copyleft, license_of, run_time_packages  # noqa: E402

LOCK = re.compile(r"^([A-Za-z0-9_.-]+)==([^ +]+)\S* \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)
on_python_3_11 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the tested set is of Python 3.11")


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def locked():
    return {canonical(name): version for name, version, _ in LOCK.findall((ROOT / "requirements.lock").read_text())}


def test_no_package_at_run_time_is_under_the_gpl():
    licenses = {name: license_of(distribution(name)) for name in run_time_packages()}
    assert {"numpy", "torch", "transformers"} <= licenses.keys()
    assert not [name for name, declared in licenses.items() if is_copyleft(declared)]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("GPL-3.0-only", True), ("GNU General Public License v2 (GPLv2)", True), ("AGPL-3.0", True),
        ("LGPL-2.1-only", False), ("MIT", False), ("GPL-2.0 OR MIT", False), ("MIT AND GPL-2.0-only", True),
    ],
)  # fmt: skip
def test_the_gpl_is_recognized(declared, expected):
    assert is_copyleft(declared) == expected


@on_python_3_11
def test_every_package_is_in_the_list_of_licenses():
    page = (ROOT / "THIRD_PARTY.md").read_text()
    listed = {canonical(name) for name in re.findall(r"^\| ([^ ]+) \| [0-9]", page, flags=re.M)}
    assert not run_time_packages().keys() - listed, "run `make licenses`"


@on_python_3_11
def test_the_lock_file_has_every_package_in_its_tested_version(locked):
    text = (ROOT / "constraints.txt").read_text()
    tested = {canonical(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s;#]+)", text, flags=re.M)}
    assert not run_time_packages().keys() - locked.keys(), "run `make lock`"
    assert {name: tested.get(name) for name in locked if name != "setuptools"} == {
        name: version
        for name, version in locked.items()
        if name != "setuptools"  # of every environment
    }
