"""A keyboard interrupt ends a fit in another process with a fitted model."""

import signal
import subprocess
import sys
import textwrap

import pytest

FITS = {
    "EM, one thread": "MIMixture(n_init=4, max_iter=10**6, tol=0.0, random_state=0, n_jobs=1)",
    "EM, two threads": "MIMixture(n_init=4, max_iter=10**6, tol=0.0, random_state=0, n_jobs=2)",
    "prox-Newton": "MILogisticRegression(alpha=1.0, tol=1e-9, random_state=0)",
    "Newton": "MILogisticRegression(alpha=0, n_init=10**6, tol=1e-9, random_state=0)",
}
DATA = {
    "EM": "make_mixture_bags(60_000, separation=0.3, random_state=0)",
    "prox-Newton": "make_noisy_or_bags(60_000, size=4, n_features=60, random_state=0)",
}


@pytest.mark.slow
@pytest.mark.parametrize("fit", list(FITS))
def test_sigint_ends_a_fit_with_a_fitted_model(fit):
    code = f"""
        import signal
        import warnings
        from bagwise import MILogisticRegression, MIMixture, make_mixture_bags, make_noisy_or_bags

        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if tests run in the background
        small = make_mixture_bags(100, separation=0.3, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            {FITS[fit]}.set_params(n_init=1, max_iter=2, tol=1.0).fit(small.bags, small.y)  # compiles
        data = {DATA.get(fit, DATA["EM"])}
        model = {FITS[fit]}
        print("ready", flush=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(data.bags, data.y)
        print(model.predict(data.bags).shape, [str(w.message) for w in caught], flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "(60000,)" in output
    if fit.startswith("EM"):  # else one of many starts was interrupted, and another may be the best
        assert "was interrupted; the best parameters so far are kept" in output
