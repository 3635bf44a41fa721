"""The device, and the fastest precision that really works on it."""

import json
import subprocess

import pytest
import torch

from coterie.encoders.engine import device as module
from coterie.encoders.engine.device import bfloat16_works, choose_device, choose_precision
from coterie.encoders.transformer import TransformerEncoder
from coterie.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """Simulate a processor: ``processor(capability=..., works=...)``. Returns the list of probes that were run."""
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    probes = []

    def simulate(*, returncode=0, error=None, **capabilities):
        def run(command, **options):
            probes.append(command)
            if error is not None:
                raise error
            return subprocess.CompletedProcess(command, returncode)

        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
        monkeypatch.setattr(module.subprocess, "run", run)
        bfloat16_works.cache_clear()
        return probes

    yield simulate
    bfloat16_works.cache_clear()


@pytest.fixture
def cache_file(tmp_path):
    """Return the file with the result of the probe."""

    def find():
        (path,) = (tmp_path / "cache" / "processor").iterdir()
        return path

    return find


SIGILL = -4


# -- the probe


def test_without_amx_bfloat16_works_and_no_process_is_started(processor):
    probes = processor(avx512_bf16=True)
    assert bfloat16_works()
    assert probes == []


@pytest.mark.parametrize(("returncode", "works"), [(0, True), (SIGILL, False), (1, False)])
def test_where_amx_is_announced_bfloat16_is_tried_in_another_process(processor, returncode, works):
    probes = processor(amx_bf16=True, returncode=returncode)
    assert bfloat16_works() is works
    assert len(probes) == 1
    assert "bfloat16" in probes[0][-1]


@pytest.mark.parametrize("returncode", [0, SIGILL])
def test_the_result_of_the_probe_is_cached_on_disk(processor, cache_file, returncode):
    probes = processor(amx_bf16=True, returncode=returncode)
    first = bfloat16_works()
    assert json.loads(cache_file().read_text()) == {"bfloat16": first}
    bfloat16_works.cache_clear()
    assert bfloat16_works() is first
    assert len(probes) == 1


@pytest.mark.parametrize("content", ["", "not json", "[]", "{}", "null"])
def test_a_damaged_cache_file_is_replaced(processor, cache_file, content):
    probes = processor(amx_bf16=True, returncode=SIGILL)
    bfloat16_works()
    cache_file().write_text(content)
    bfloat16_works.cache_clear()
    assert not bfloat16_works()
    assert len(probes) == 2
    assert json.loads(cache_file().read_text()) == {"bfloat16": False}


def test_another_limit_of_onednn_is_probed_again(processor, monkeypatch):
    probes = processor(amx_bf16=True, returncode=SIGILL)
    assert not bfloat16_works()
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
    processor(amx_bf16=True, returncode=0)
    assert bfloat16_works()
    assert len(probes) == 2


@pytest.mark.parametrize("error", [OSError("no process"), subprocess.TimeoutExpired("probe", 1)])
def test_a_probe_that_cannot_run_counts_as_not_working_and_is_not_cached(processor, tmp_path, error):
    processor(amx_bf16=True, error=error)
    assert not bfloat16_works()
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_no_error(processor, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "file"))
    probes = processor(amx_bf16=True)
    assert bfloat16_works()
    bfloat16_works.cache_clear()
    assert bfloat16_works()
    assert len(probes) == 2


# -- the precision


@pytest.mark.parametrize(
    ("capabilities", "precision"),
    [
        ({"avx512_bf16": True, "avx512_vnni": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"amx_bf16": True, "avx512_vnni": True, "returncode": SIGILL}, "int8"),
        ({"amx_bf16": True, "avx512_bf16": True, "avx_vnni": True, "returncode": SIGILL}, "int8"),
        ({"amx_bf16": True, "returncode": SIGILL}, "float32"),
        ({"avx512_vnni": True}, "int8"),
        ({"avx_vnni": True}, "int8"),
        ({"avx2": True}, "float32"),
    ],
)
def test_auto_is_the_fastest_precision_that_works(processor, capabilities, precision):
    processor(**capabilities)
    assert choose_precision("auto", CPU) == precision


def test_bfloat16_is_refused_where_it_crashes(processor):
    processor(amx_bf16=True, returncode=SIGILL)
    with pytest.raises(InputError, match=r"`precision` is 'bfloat16', but .* crash.*ONEDNN_MAX_CPU_ISA"):
        choose_precision("bfloat16", CPU)
    assert choose_precision("float32", CPU) == "float32"
    assert choose_precision("int8", CPU) == "int8"


def test_bfloat16_is_accepted_where_it_works(processor):
    processor(amx_bf16=True)
    assert choose_precision("bfloat16", CPU) == "bfloat16"


def test_an_encoder_with_bfloat16_is_refused_where_it_crashes(processor, model_folder):
    processor(amx_bf16=True, returncode=SIGILL)
    encoder = TransformerEncoder(model=str(model_folder("bert")), max_length=32, device="cpu", precision="bfloat16")
    with pytest.raises(InputError, match="`precision` is 'bfloat16'"):
        encoder.embed(["alpha"])


def test_other_devices_do_not_use_int8(processor):
    processor(avx512_vnni=True)
    assert choose_precision("auto", torch.device("mps")) == "float32"


# -- the device


def test_an_unknown_device_is_refused():
    with pytest.raises(InputError, match=r"`device` is 'warp', which this machine does not have\. Use auto or cpu"):
        choose_device("warp")


def test_auto_is_a_device_of_this_machine():
    expected = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert choose_device("auto").type == expected
