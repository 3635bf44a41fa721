import numpy as np
import pytest

from coterie.errors import InputError
from coterie.experiments.results import append_result, read_results
from coterie.experiments.scoring import calibration_error


def test_an_invalid_line_raises_an_input_error_with_its_number(tmp_path):
    out = tmp_path / "results.jsonl"
    out.write_text("{nonsense\n{}\n")
    with pytest.raises(InputError, match=r"results\.jsonl, line 1 is not JSON"):
        read_results(out)
    out.write_text('{"method": "kmeans"}\n')
    with pytest.raises(InputError, match="line 1 is not a result: it has no 'variant'"):
        read_results(out)


def test_nan_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        append_result(tmp_path / "results.jsonl", {"acc": float("nan")})
    assert not (tmp_path / "results.jsonl").exists()


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    true_labels = np.array([0, 0, 1, 1, 0])
    labels = np.array([1, 1, 0, 0, -1])
    assert calibration_error(true_labels, labels, np.array([1.0, 1, 1, 1, np.nan])) == 0
    assert calibration_error(true_labels, labels, np.array([0.65, 0.65, 1, 1, np.nan])) == pytest.approx(0.175)
