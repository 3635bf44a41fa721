from coterie.experiments.guard_report import make_guard_report


def result(method, nmi, guard, kept):
    curve = [{"nmi": a, "guard": b} for a, b in zip(nmi, guard, strict=True)]
    return {"set": "tweet", "method": method, "seed": 0, "curve": curve, "guard": {"kept": kept}}


def test_the_kept_epoch_is_compared_with_the_best_and_the_last():
    results = [
        result("sccl", [0.5, 0.7, 0.6], [0.1, 0.3, 0.2], kept=1),
        result("aecl", [0.5, 0.7, 0.6], [0.3, 0.1, 0.2], kept=0),
        {"set": "tweet", "method": "kmeans", "seed": 0},  # not trained, so without a curve
    ]
    _, _, sccl, aecl, _, summary = make_guard_report(results).splitlines()
    assert sccl == "| tweet | sccl | 0 | 50.0 | 60.0 | 70.0 | 70.0 (epoch 1) | 1.00 |"
    assert aecl == "| tweet | aecl | 0 | 50.0 | 60.0 | 70.0 | 50.0 (epoch 0) | -1.00 |"
    assert "of the best epoch in 1 of 2 trainings" in summary
    assert summary.endswith("below the last epoch in 1.")
