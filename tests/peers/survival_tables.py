"""Makes workloads/survival/tests/golden/survival_tables.safetensors: 1 000 small random tables with ties and heavy censoring, and
what scikit-survival (0.28.0; with numpy and safetensors) says of each.

  survival_tables.py OUT.safetensors

Rows past a table's own number are padding. A value that scikit-survival does not define is NaN.
"""

import sys
import warnings

import numpy
from safetensors.numpy import save_file
from sksurv import metrics
from sksurv.linear_model.coxph import BreslowEstimator
from sksurv.nonparametric import CensoringDistributionEstimator, SurvivalFunctionEstimator
from sksurv.util import Surv

TABLES, ROWS = 1000, {"train": 20, "test": 16}
HORIZONS = 3
warnings.filterwarnings("ignore")


def draw(generator, most, last_time):
    rows = generator.integers(most // 3, most + 1)
    return {
        "risk": generator.integers(-20, 21, rows) // generator.integers(1, 8),  # in tenths
        "time": generator.integers(1, last_time + 1, rows),
        "event": generator.random(rows) < generator.choice([0.15, 0.3, 0.6, 1.0]),
    }


def is_usable(train, test):
    """What scikit-survival itself asks for: events on both sides, and a training table that reaches further."""
    if not train["event"].any() or not test["event"].any() or test["time"].max() >= train["time"].max():
        return False
    if test["time"][test["event"]].min() >= test["time"].max():
        return False  # no pair to compare
    inside = numpy.unique(test["time"])
    return len(inside[inside < test["time"].max()]) >= HORIZONS


def uno(train, test, risk, tau=None):
    try:
        return metrics.concordance_index_ipcw(train, test, risk, tau=tau)[0]
    except ValueError:  # no event is left below tau
        return numpy.nan


def measure(train, test, horizons, tau):
    risk, of_train = test["risk"] / 10, Surv.from_arrays(train["event"], train["time"].astype(float))
    of_test = Surv.from_arrays(test["event"], test["time"].astype(float))
    harrell = metrics.concordance_index_censored(test["event"], test["time"].astype(float), risk)
    auc, mean_auc = metrics.cumulative_dynamic_auc(of_train, of_test, risk, horizons)
    breslow = BreslowEstimator().fit(train["risk"] / 10, train["event"], train["time"].astype(float))
    baseline = breslow.cum_baseline_hazard_
    # The function itself refuses times before the training table's first, where the hazard is 0.
    hazard = numpy.array([baseline(time) if time >= baseline.x[0] else 0.0 for time in horizons])
    survival = numpy.exp(-numpy.outer(numpy.exp(risk), hazard))
    brier = metrics.brier_score(of_train, of_test, survival, horizons)[1]
    integrated = metrics.integrated_brier_score(of_train, of_test, survival, horizons)
    middle = horizons[1:2]
    values = [harrell[0], uno(of_train, of_test, risk), uno(of_train, of_test, risk, tau), *auc, mean_auc, *brier,
              integrated, hazard[1], CensoringDistributionEstimator().fit(of_train).predict_proba(middle)[0],
              SurvivalFunctionEstimator().fit(of_train).predict_proba(middle)[0]]
    return values, [int(count) for count in harrell[1:]]


def main(out):
    generator = numpy.random.default_rng(20)
    types = {"risk": numpy.int8, "time": numpy.uint8, "event": numpy.uint8}
    stored = {f"{side}/{name}": numpy.zeros((TABLES, ROWS[side]), type_)
              for side in ROWS for name, type_ in types.items()}
    rows, horizon_rows, values, counts = [], [], [], []
    while len(rows) < TABLES:
        last_time = generator.integers(5, 40)
        train, test = draw(generator, ROWS["train"], last_time), draw(generator, ROWS["test"], last_time)
        if not is_usable(train, test):
            continue
        inside = numpy.unique(test["time"])
        horizons = numpy.sort(generator.choice(inside[inside < test["time"].max()], HORIZONS, replace=False))
        value, count = measure(train, test, horizons.astype(float), float(horizons[-1]))
        for side, table in (("train", train), ("test", test)):
            for name in types:
                stored[f"{side}/{name}"][len(rows), : len(table[name])] = table[name]
        rows.append([len(train["time"]), len(test["time"])])
        horizon_rows.append(horizons)
        values.append(value)
        counts.append(count)
    stored["rows"] = numpy.array(rows, numpy.uint8)
    stored["horizons"] = numpy.array(horizon_rows, numpy.uint8)
    stored["values"] = numpy.array(values, numpy.float64)
    stored["counts"] = numpy.array(counts, numpy.int16)
    save_file(stored, out)
    print({name: numpy.isnan(stored["values"][:, i]).sum() for i, name in enumerate("hut012m012ibgk")})


main(sys.argv[1])
